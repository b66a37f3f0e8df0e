"""WebArena: browser episodes in its task format, actions, observations and evaluators (Zhou et al., arXiv 2307.13854)."""

__version__ = "1.0.0"
