"""TextCraft: crafting in Minecraft's recipe graph, as text (after ADaPT, Prasad et al. 2023, arXiv 2311.05772)."""

__version__ = "1.2.0"
