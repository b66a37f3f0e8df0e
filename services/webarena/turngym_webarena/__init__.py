"""WebArena: browser episodes in WebArena's task format, actions, observations and evaluators (Zhou et al. 2023, arXiv 2307.13854)."""

__version__ = "1.0.0"
