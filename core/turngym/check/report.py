"""Running the checks, and the table of what they found."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import httpx
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from turngym.check import batches, episodes, requests, service, sessions, tasks
from turngym.check.probe import Broken, Check, NotApplicable, Probe
from turngym.client.transport import base_address

CHECKS: tuple[Check, ...] = tuple(
    found
    for module in (service, tasks, requests, sessions, episodes, batches)
    for found in vars(module).values()
    if isinstance(found, Check)
)


class Verdict(StrEnum):
    """What a check found."""

    PASSED = "passed"  # the rule is kept
    FAILED = "failed"  # the rule is broken
    SKIPPED = "skipped"  # the rule does not bind this service


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check found, and why; ``seconds`` is how long it took."""

    check: Check
    verdict: Verdict
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """What all checks found, in their order."""

    url: str
    outcomes: Sequence[Outcome]

    @property
    def passed(self) -> bool:
        """Whether no rule is broken."""
        return all(outcome.verdict is not Verdict.FAILED for outcome in self.outcomes)

    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [outcome.check.name for outcome in self.outcomes if outcome.verdict is Verdict.FAILED]

    def table(self) -> Table:
        """A row a check."""
        colours = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.SKIPPED: "yellow"}
        table = Table("check", "verdict", "rule, or what is wrong")
        for outcome in self.outcomes:
            verdict = f"[{colours[outcome.verdict]}]{outcome.verdict}[/]"
            table.add_row(outcome.check.name, verdict, escape(outcome.reason or outcome.check.rule))
        return table

    def verdict(self) -> str:
        """One line for all."""
        counts = {verdict: sum(o.verdict is verdict for o in self.outcomes) for verdict in Verdict}
        listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
        return f"{self.url}: {'conforms' if self.passed else 'does not conform'} ({listed})"


def run_checks(
    url: str, *, token: str | None = None, only: Sequence[str] | None = None, console: Console | None = None
) -> Report:
    """Run the checks against the service at ``url``; with ``only``, those of these names.

    :raises ValueError: if ``url`` is no address, or ``only`` has a name that no check has.
    """
    known = {check.name: check for check in CHECKS}
    if unknown := [name for name in only or [] if name not in known]:
        raise ValueError(f"there is no check {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = [known[name] for name in only] if only else list(CHECKS)
    address = base_address(url)
    outcomes = []
    with (
        Probe(address, token) as probe,
        Progress(console=console, transient=True, disable=console is None or not console.is_terminal) as bar,
    ):
        for check in bar.track(chosen, description="checks"):
            outcomes.append(run_check(check, probe))
    return Report(address, outcomes)


def run_check(check: Check, probe: Probe) -> Outcome:
    """Run one check, and close what it opened."""
    started = time.monotonic()
    verdict, reason = Verdict.PASSED, ""
    try:
        check.run(probe)
    except NotApplicable as error:
        verdict, reason = Verdict.SKIPPED, str(error)
    except Broken as error:
        verdict, reason = Verdict.FAILED, str(error)
    except httpx.HTTPError as error:
        verdict, reason = Verdict.FAILED, f"no answer: {str(error) or type(error).__name__}"
    except (
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
    ) as error:  # JSON of another shape than it must have
        verdict, reason = Verdict.FAILED, f"an answer has another shape: {type(error).__name__}: {error}"
    probe.tidy()
    return Outcome(check, verdict, reason, time.monotonic() - started)
