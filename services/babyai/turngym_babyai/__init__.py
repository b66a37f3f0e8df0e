"""BabyAI: minigrid's language levels as text (Chevalier-Boisvert et al. 2019, arXiv 1810.08272)."""

__version__ = "1.0.0"
