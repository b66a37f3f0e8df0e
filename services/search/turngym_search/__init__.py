"""Deep search: multi-turn retrieval and reasoning in the terms of Search-R1 (Jin et al. 2025, arXiv 2503.09516)."""

__version__ = "1.0.0"
