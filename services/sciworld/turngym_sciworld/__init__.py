"""ScienceWorld: experiments of elementary school science, as text (Wang et al. 2022, arXiv 2203.07540)."""

__version__ = "1.0.0"
