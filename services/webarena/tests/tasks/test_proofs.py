"""The proofs of one short instance of each template, in the real browser; all tasks' are ``make prove TASK=webarena``."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from turngym_webarena.service import WebArenaService
from turngym_webarena.tasks import SPLITS, Oracle, WebTask, load, oracle
from turngym_webarena.tasks.families import TEMPLATES
from turngym_webarena.tasks.proving import play, stray


def quickest(number: int) -> WebTask:
    """The task of a template whose oracle has least to do."""
    tasks = [task for split in SPLITS for task in load(split) if task.raw["intent_template_id"] == number]
    return min(tasks, key=lambda task: (task.turns, task.raw["task_id"]))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WebArenaService]:
    """The whole service, without its HTTP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TURNGYM_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        made = WebArenaService()
        await made.load(lambda what, part: None)
        yield made
        await made.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("number", TEMPLATES)
async def test_the_oracle_passes_and_a_stop_does_not(service: WebArenaService, number: int) -> None:
    task = quickest(number)
    own = await play(service.place, service.worlds, task.raw, task.world, oracle(task))
    assert own.score == 1.0, own.actions
    assert set(own.changes) <= TEMPLATES[number].touches
    assert (own.turns, own.nodes) == (task.turns, task.nodes)
    others = await stray(service.place, service.worlds, task.raw, task.world, Oracle(0, {}))
    assert set(others.values()) == {0.0}, others


@pytest.mark.asyncio(loop_scope="module")
async def test_the_same_actions_give_the_same_text(service: WebArenaService, tmp_path: Path) -> None:
    task = quickest(202)
    one, two = [
        await play(service.place, service.worlds, task.raw, task.world, oracle(task)) for _ in range(2)
    ]
    assert one == two
