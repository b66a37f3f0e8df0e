"""verl, plus what training over turns lacks: episodes over HTTP, a growing horizon, a preset for machines with no GPU."""

__version__ = "0.1.0"
