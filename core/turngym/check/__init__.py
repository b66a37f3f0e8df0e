"""Conformance: does a running service keep the protocol? One :class:`Check` a rule; ``run_checks`` runs them all.

The checks speak raw HTTP and not through the project's own client, so that they also see what a client would smooth over.
They take any service of the protocol, whatever its tasks: see :class:`~turngym.check.probe.Probe`.
"""

from turngym.check.probe import Check, Probe
from turngym.check.report import CHECKS, Outcome, Report, Verdict, run_checks

__all__ = ["CHECKS", "Check", "Outcome", "Probe", "Report", "Verdict", "run_checks"]
