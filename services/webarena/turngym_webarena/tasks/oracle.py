"""The oracle: plays a task's script, which reads observations and writes actions of the public grammar."""

from turngym_webarena.tasks.families import TEMPLATES
from turngym_webarena.tasks.page import Lost, Page, Params, Script


def _nothing(params: Params, page: Page) -> Script:
    """The script of a template that isn't there."""
    raise Lost("no such template")
    yield


class Oracle:
    """A player for one episode, from its beginning. ``act`` is called once a turn, with the newest observation."""

    def __init__(self, template: int, params: Params) -> None:
        found = TEMPLATES.get(template)
        self._play = found.play if found else _nothing
        self._params = params
        self._script: Script | None = None

    def act(self, observation: str) -> str:
        """The next action. Where the script finds nothing to go on with, it stops without an answer."""
        page = Page(observation)
        try:
            if self._script is None:
                self._script = self._play(self._params, page)
                return next(self._script)
            return self._script.send(page)
        except StopIteration as end:
            return f"stop [{end.value or ''}]"
        except (
            Lost,
            LookupError,
            ValueError,
        ):  # a page without what is looked for: no row, no such column, no number
            return "stop []"
