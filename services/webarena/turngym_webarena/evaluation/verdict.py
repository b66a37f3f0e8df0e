"""The verdict on an episode: every check of its task, in the order in which none disturbs another."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from turngym_webarena.evaluation.addresses import address_matches
from turngym_webarena.evaluation.answers import (
    MOVES_BEFORE_NA,
    amounts_to,
    answer_matches,
    content_matches,
    says_not_applicable,
)
from turngym_webarena.evaluation.checks import LAST, AnswerCheck, Checks, HelperCall, PageCheck
from turngym_webarena.evaluation.judge import Judge
from turngym_webarena.evaluation.pages import Reader, prepare, read
from turngym_webarena.settings import Profile
from turngym_webarena.tabs import Tab, Tabs


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended: the task's words, the agent's answer, and how many of its actions showed something new."""

    intent: str
    answer: str
    moves: int


async def evaluate(
    checks: Checks,
    ending: Ending,
    tabs: Tabs,
    sites: Mapping[str, str],
    profile: Profile,
    judge: Judge | None = None,
) -> float:
    """1.0 if every check holds, else 0.0. The agent's own tab is read as it is and not sent anywhere.

    :param sites: what placeholders such as ``__SHOPPING__`` stand for, without a slash at the end.
    :raises BackendUnavailable: if the judge gave no verdict. Nothing has been done to a page then.
    """
    last = tabs.tab
    if checks.answer is not None and not await _answered(checks.answer, ending, profile, judge):
        return 0.0
    if checks.urls:
        references = [placed(url, sites) for url in checks.urls]
        if not address_matches(references, last.page.url, profile):
            return 0.0
    if checks.pages and not await _pages_hold(checks, tabs, last, sites, profile):
        return 0.0
    return 1.0


def placed(url: str, sites: Mapping[str, str]) -> str:
    """An address of a task file with its placeholder replaced. Longer names first: one begins with another."""
    for placeholder in sorted(sites, key=len, reverse=True):
        url = url.replace(placeholder, sites[placeholder].rstrip("/"))
    return url


async def _answered(check: AnswerCheck, ending: Ending, profile: Profile, judge: Judge | None) -> bool:
    if not check.unachievable:
        if not answer_matches(check, ending.answer, profile, ending.moves):
            return False
        for reference in check.fuzzy:
            if not await _amounts(reference, ending, judge):
                return False
        return True
    if answer_matches(check, ending.answer, profile, ending.moves):
        return True
    explored = profile == "webarena" or ending.moves >= MOVES_BEFORE_NA
    if judge is None or not explored or not check.note or says_not_applicable(ending.answer):
        return False
    return await judge.agrees(ending.intent, check.note, ending.answer, impossible=True)


async def _amounts(reference: str, ending: Ending, judge: Judge | None) -> bool:
    if amounts_to(reference, ending.answer):
        return True
    return judge is not None and await judge.agrees(ending.intent, reference, ending.answer)


async def _pages_hold(
    checks: Checks, tabs: Tabs, last: Tab, sites: Mapping[str, str], profile: Profile
) -> bool:
    own = await tabs.new_tab()
    reader = Reader(tabs, own, sites, last.page.url)
    held = True
    for check in checks.pages:
        held = content_matches(check.required, await _content(check, reader, own, last, sites), profile)
        if not held:
            break
    await tabs.close_tab(own)
    tabs.current = last
    return held


async def _content(check: PageCheck, reader: Reader, own: Tab, last: Tab, sites: Mapping[str, str]) -> str:
    """What the check's part of its page says."""
    if check.url == LAST:
        tab = last
    else:
        url = (
            await reader.call(check.url, own)
            if isinstance(check.url, HelperCall)
            else placed(check.url, sites)
        )
        if not url:
            return ""
        tab = await reader.open(url)
    for script in check.prepare:
        await prepare(tab, script)
    if isinstance(check.locator, HelperCall):
        return await reader.call(check.locator, tab)
    return unescape(await read(tab, check.locator))
