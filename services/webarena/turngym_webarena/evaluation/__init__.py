"""Whether an episode reached its goal: WebArena's evaluators, in its task files' own terms.

A task's ``eval`` names what is checked: the answer (``string_match``), the address where the agent ended (``url_match``) and
what pages hold afterwards (``program_html``). Each check says yes or no; the score is their product, computed once, when the
agent stops. Profile "fixed" mends what is known to be wrong with the published evaluators; "webarena" keeps it, to compare.
"""

from turngym_webarena.evaluation.checks import Checks, read_checks
from turngym_webarena.evaluation.judge import Judge
from turngym_webarena.evaluation.verdict import Ending, evaluate

__all__ = ["Checks", "Ending", "Judge", "evaluate", "read_checks"]
