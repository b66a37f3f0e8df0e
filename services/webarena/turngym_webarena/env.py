"""One episode: a task, a browser context of its own over a world of its own, and the verdict when the agent stops.

Each turn acts on the page and answers with the page as text, under WebArena's grammar. What can't be read or done changes
nothing, costs a turn, and is said in front of the page. The score is 0 until the agent stops: an episode that runs into its
horizon was not brought to an end by the agent, and scores 0.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol

from pydantic import Field

from turngym.environment import Environment, Options, Outcome
from turngym.schema import Message, StopReason
from turngym_webarena import players
from turngym_webarena.acting import Hands, Refused
from turngym_webarena.actions import Action, ActionError, Verb, parse_action
from turngym_webarena.browser import Chromium
from turngym_webarena.evaluation import Checks, Ending, Judge, evaluate
from turngym_webarena.evaluation.checks import AND
from turngym_webarena.evaluation.verdict import placed
from turngym_webarena.observation import PageText
from turngym_webarena.players import Guide, Oracle
from turngym_webarena.settings import WebArenaSettings
from turngym_webarena.tabs import Tabs

INSTRUCTION = """\
You use a web browser to reach an objective. You see the current page as text, one element a line, with its id in brackets;
elements lie within others as their lines are indented. Act by one action per turn:
- click [id]: click an element; hover [id]: point at it
- type [id] [text] [0 or 1]: write into a field; Enter follows, unless the last is 0. clear [id]: empty a field
- select [id] [option]: choose from a list of options
- press [keys]: a key or combination, such as Ctrl+a
- scroll [down] or scroll [up]: one screen
- goto [url], go_back, go_forward: other pages of the same sites; no others can be reached
- new_tab, tab_focus [number], close_tab: tabs
- stop [answer]: end the task, with the answer if one is asked for, short and without explanation; with N/A if it can't be done
Ids are of the page as it is now and change from turn to turn. Reply with one line of thought and one action:
Thought: what to do next, and why
Action: click [12]"""

_VERDICT_S = 600.0  # the step's own deadline ends a verdict that takes too long


class WebArenaOptions(Options):
    """Options of a session.

    ``instructions`` "full" explains the actions before the task, "none" leaves that out: shorter prompts for small models.
    ``view`` "page" shows the whole page, "screen" only what is on a screen of 1280 by 720 pixels. ``max_nodes`` is how many
    elements are shown at a time; None means the server's own limit. ``dialogs`` is what becomes of a page's questions.
    """

    instructions: Literal["full", "none"] = "full"
    view: Literal["page", "screen"] = "page"
    max_nodes: int | None = Field(default=None, ge=20, le=20_000)
    dialogs: Literal["accept", "dismiss"] = "accept"


@dataclass(frozen=True, slots=True)
class Goal:
    """What an episode is about: where it starts (placeholders replaced later), what is asked, and what decides on it."""

    intent: str
    start_url: str
    world: str
    checks: Checks


class Worlds(Protocol):
    """Opens and closes the sites' state of a session."""

    def open(self, session_id: str, world: str) -> object:
        """A session's state, fresh from the seed."""
        ...

    def close(self, session_id: str) -> None:
        """Forget it."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """What all episodes of a process share. ``sites`` maps placeholders to base addresses; ``header`` names a session."""

    chromium: Chromium
    worlds: Worlds
    settings: WebArenaSettings
    sites: Mapping[str, str]
    header: str
    judge: Judge | None


class WebArena(Environment):
    """One episode. Its methods are coroutines where they need the browser."""

    def __init__(self, goal: Goal, place: Place, options: WebArenaOptions, oracle: Oracle | None) -> None:
        self.goal = goal
        self.place = place
        self.options = options
        self.page = PageText("", {}, 0)
        self.text = ""
        self.moves = 0
        self._session = secrets.token_hex(12)
        self._guide = Guide(oracle) if oracle is not None else None
        self._tabs: Tabs | None = None
        self._score = 0.0

    @property
    def tabs(self) -> Tabs:
        """The session's tabs, once the episode has begun."""
        assert self._tabs is not None, "the episode has not begun"
        return self._tabs

    @property
    def score(self) -> float:
        """0 until the agent stops, then the verdict."""
        return self._score

    async def start(self) -> list[Message]:  # type: ignore[override]
        """Open the task's pages. The instruction, where it is asked for, then the objective and the first page."""
        await asyncio.to_thread(self.place.worlds.open, self._session, self.goal.world)
        self._tabs = await Tabs.open(
            self.place.chromium,
            {self.place.header: self._session},
            self.place.settings,
            self.options.dialogs,
        )
        async with self.place.chromium.active:
            await self._tabs.guarded(self._open_pages())
        first = Message(role="user", content=f"Objective: {self.goal.intent}\n\n{self.text}")
        if self.options.instructions == "none":
            return [first]
        return [Message(role="system", content=INSTRUCTION), first]

    async def _open_pages(self) -> None:
        hands = Hands(self.tabs, self.place.chromium)
        for url in placed(self.goal.start_url, self.place.sites).split(AND):
            tab = await self.tabs.new_tab()
            await tab.page.goto(hands.resolve(url.strip(), tab.page.url), wait_until="commit", timeout=20_000)
            await self.tabs.settle()
        self.tabs.current = self.tabs.tabs[0]
        await self.tabs.settle()
        await self._look([])

    async def step(self, action: str) -> Outcome:  # type: ignore[override]
        """Do one action and look at the page."""
        if self._guide is not None:
            self._guide.record(self.text, action)
        try:
            parsed = parse_action(action)
        except ActionError as error:
            return self.unreadable(f"Unreadable: {error}")
        if parsed.verb is Verb.STOP:
            return await self._stop(parsed.text)
        before = self.page.text
        async with self.place.chromium.active:
            self.tabs.check()
            refused = await self.tabs.guarded(self._turn(parsed))
        self.moves += not refused and self.page.text != before
        return Outcome(self.text, score=0.0, invalid=refused, data=self._data())

    async def _turn(self, action: Action) -> bool:
        """Act and look; whether the action was refused."""
        notes, refused = [], False
        try:
            if not await Hands(self.tabs, self.place.chromium).act(action, self.page.elements):
                notes.append(f"The page was still busy after {self.place.settings.settle_s:g} seconds.")
        except Refused as error:
            notes.append(f"Refused: {error}.")
            refused = True
        await self._look(notes)
        return refused

    def unreadable(self, reason: str) -> Outcome:
        """The reason in front of the page as it was; nothing has happened to it."""
        return Outcome(
            f"{reason.rstrip('.')}.\n\n{self.text}", invalid=True, unreadable=True, data=self._data()
        )

    def opening_data(self) -> dict[str, Any] | None:
        """The address, the tabs and how many elements the page has."""
        return self._data()

    async def _look(self, notes: list[str]) -> None:
        """Read the page; ``notes`` and what the page reported stand in front of it."""
        limit = self.options.max_nodes or self.place.settings.max_nodes
        in_view = self.options.view == "screen"
        self.page = await self.tabs.observe(limit, in_view)
        header = await self.tabs.header()
        said = [*self.tabs.take_notes(), *notes]
        front = "\n".join(said) + "\n\n" if said else ""
        self.text = f"{front}{header}\nURL: {self.tabs.tab.page.url}\n\n{self.page.text}"

    def _data(self) -> dict[str, Any]:
        tabs = self.tabs
        return {
            "url": tabs.tab.page.url,
            "tabs": [{"title": tab.title, "url": tab.page.url} for tab in tabs.tabs],
            "nodes": self.page.nodes,
        }

    async def _stop(self, answer: str) -> Outcome:
        ending = Ending(self.goal.intent, answer, self.moves)
        place = self.place
        async with place.chromium.active:
            self.tabs.check()
            self._score = await self.tabs.guarded(
                evaluate(
                    self.goal.checks, ending, self.tabs, place.sites, place.settings.profile, place.judge
                ),
                _VERDICT_S,
            )
        return Outcome(
            "The task is over.",
            reward=self._score,
            score=self._score,
            stop=StopReason.AGENT_STOP,
            success=self._score >= 1.0,
            info={"answer": answer},
        )

    # -- players -------------------------------------------------------------------------------------------------------

    def actions(self) -> list[str]:
        """Every action on the elements that are shown, without those that write a text of one's own."""
        return players.actions(self.page.elements, len(self.tabs.tabs))

    def random(self, rng: Random) -> str:
        """A random action: mostly on an element, sometimes a stop with a text of the page."""
        return players.random_action(rng, self.page.elements, len(self.tabs.tabs))

    def expert(self) -> str:
        """The oracle's next action, from the text that an agent sees."""
        if self._guide is None:
            return super().expert()
        return self._guide.advise(self.text)

    def novice(self, rng: Random, rate: float) -> str:
        """The expert's action or, with probability ``rate``, one that changes nothing."""
        if rng.random() < rate:
            return players.useless_action(rng, self.page.elements)
        return self.expert()

    async def render(self) -> bytes | None:  # type: ignore[override]
        """The screen as a PNG."""
        return await self.tabs.guarded(self.tabs.picture())

    async def close(self) -> None:  # type: ignore[override]
        """Close the context and forget the session's world."""
        if self._tabs is not None:
            await self._tabs.close()
        await asyncio.to_thread(self.place.worlds.close, self._session)
