"""Deep search as a service: what ``turngym serve search`` serves."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from turngym.environment import Environment, Mode, Progress, Service, Spec
from turngym.schema import TaskInfo
from turngym.server.routes import RouteDoc
from turngym.server.settings import read_settings
from turngym_search import __version__
from turngym_search.engine import Engine, open_engine
from turngym_search.env import GRAMMAR, INSTRUCTION, MAX_TURNS, DeepSearch, SearchOptions
from turngym_search.questions import open_questions
from turngym_search.retrieval import Hit
from turngym_search.retrieve import Retrieve
from turngym_search.settings import SearchSettings
from turngym_search.tasks import SearchTasks


class SearchService(Service):
    """Questions, and the passages to answer them from. Sessions are coroutines; searching has a thread of its own.

    :param settings: default: from the process's environment. Raises SettingsError.
    """

    Options: ClassVar = SearchOptions
    defaults: ClassVar = {"port": 8002}
    tasks: SearchTasks

    def __init__(self, settings: SearchSettings | None = None) -> None:
        self.settings = settings or read_settings(SearchSettings)
        self.tasks = SearchTasks(lambda: open_questions(self.settings.questions))
        self._retrieve = Retrieve(self.settings.topk)
        self._engine: Engine | None = None
        self.spec = Spec(
            name="search",
            version=__version__,
            description="Answer questions by searching a corpus, hop by hop",
            instruction=INSTRUCTION,
            grammar=GRAMMAR,
            default_max_turns=MAX_TURNS,
            max_turns=50,
            data_hash=hashlib.sha256(b"not loaded").hexdigest(),
            mode=Mode.ASYNC,
            forkable=True,
        )

    @property
    def engine(self) -> Engine:
        """What finds passages. Raises RuntimeError before :meth:`load`."""
        if self._engine is None:
            raise RuntimeError("the service is not loaded")
        return self._engine

    def load(self, progress: Progress) -> None:
        """Open or make corpus, encoder and index, and read the questions."""
        progress("the questions", 0.0)
        questions = self.tasks.source
        engine = open_engine(self.settings, progress)
        data = hashlib.sha256(f"{questions.sha256} {engine.sha256}".encode()).hexdigest()
        self.spec = replace(self.spec, data_hash=data)
        self._engine = self._retrieve.engine = engine

    def open(self, task: TaskInfo, seed: int, options: Any) -> Environment:
        """A fresh episode of the task. The seed changes nothing."""
        return DeepSearch(self.tasks.question(task), options, self.find)

    async def find(self, query: str, k: int) -> Sequence[Hit]:
        """The best ``k`` passages for a query. Raises BackendUnavailable."""
        (hits,) = await self.engine.search([query], k)
        return hits

    def routes(self) -> Sequence[RouteDoc]:
        """``/retrieve``."""
        return self._retrieve.routes()

    def gauges(self) -> Mapping[str, float]:
        """Queries, batches, what was spared; nothing before the index is loaded."""
        return self._engine.gauges() if self._engine is not None else {}

    def close(self) -> None:
        """End what the engine holds."""
        if self._engine is not None:
            self._engine.close()
