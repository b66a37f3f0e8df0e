"""Pages over a folder of runs: their curves, every trajectory turn by turn, groups side by side, two runs compared.

It reads what ``turngym_trainer`` writes and changes nothing of it; the trainer need not be installed.
"""

__version__ = "0.1.0"
