"""Rules about tasks: paging, ids, splits, and how a session names its task."""

from urllib.parse import quote

from turngym.check.probe import Probe, check
from turngym.schema import Split, TaskInfo, TaskPage

MOST = 500  # tasks of a split that are looked at
PAGE = 100


def _page(probe: Probe, split: Split, offset: int, limit: int) -> TaskPage:
    query = {"split": split, "offset": offset, "limit": limit}
    return probe.fits(TaskPage, probe.http.get("/tasks", params=query), 200)


def _first(probe: Probe, split: Split) -> list[TaskInfo]:
    """The first tasks of a split, at most MOST."""
    found: list[TaskInfo] = []
    wanted = min(MOST, probe.metadata.splits[split])
    while len(found) < wanted:
        page = _page(probe, split, len(found), min(PAGE, wanted - len(found)))
        probe.holds(
            bool(page.tasks),
            f"{split} ends at {len(found)}, the metadata says {probe.metadata.splits[split]}",
        )
        found += page.tasks
    return found


@check("GET /tasks has the total that the metadata says, and its offset and limit")
def task_total(probe: Probe) -> None:
    for split, count in probe.metadata.splits.items():
        page = _page(probe, split, 0, 2)
        probe.same((page.total, page.offset, page.limit), (count, 0, 2), f"total, offset, limit of {split}")
        probe.same(len(page.tasks), min(2, count), f"tasks on a page of 2 of {split}")


@check("two small pages of tasks are one page of twice the size, and beyond the end there is an empty one")
def task_paging(probe: Probe) -> None:
    both = _page(probe, probe.split, 0, 4).tasks
    parts = _page(probe, probe.split, 0, 2).tasks + _page(probe, probe.split, 2, 2).tasks
    probe.same(parts, both, "two pages of 2")
    total = probe.metadata.splits[probe.split]
    probe.same(_page(probe, probe.split, total, 2).tasks, [], "the page beyond the end")


@check("a page's limit and offset are checked: 422 invalid_request")
def task_page_limits(probe: Probe) -> None:
    for query in ({"limit": 0}, {"offset": -1}, {"split": "trian"}):
        probe.problem(probe.http.get("/tasks", params=query), "invalid_request")


@check("tasks have their position as index, their split, and a goal")
def task_fields(probe: Probe) -> None:
    for split in probe.metadata.splits:
        for position, task in enumerate(_first(probe, split)):
            probe.same((task.index, task.split), (position, split), f"index and split of {task.task_id}")
            probe.holds(bool(task.goal.strip()), f"{task.task_id} has no goal")


@check("no task id comes twice, within a split or across splits")
def task_ids_unique(probe: Probe) -> None:
    seen: dict[str, str] = {}
    for split in probe.metadata.splits:
        for task in _first(probe, split):
            probe.holds(
                task.task_id not in seen, f"{task.task_id} is in {split} and in {seen.get(task.task_id)}"
            )
            seen[task.task_id] = split


@check("GET /tasks/{task_id} gives the task, with slashes in its id as they are and as %2F")
def task_by_id(probe: Probe) -> None:
    task = probe.task
    for name in (quote(task.task_id), quote(task.task_id, safe="")):
        probe.same(probe.fits(TaskInfo, probe.http.get(f"/tasks/{name}"), 200), task, f"GET /tasks/{name}")


@check("a task that does not exist is 404 unknown_task, to read and to play")
def unknown_task(probe: Probe) -> None:
    beyond = probe.metadata.splits[probe.split]
    probe.problem(probe.http.get("/tasks/no/such/task"), "unknown_task")
    probe.problem(probe.create(probe.order(split=None, index=None, task_id="no/such/task")), "unknown_task")
    probe.problem(probe.create(probe.order(index=beyond)), "unknown_task")


@check("a session of a task_id and one of its split and index are the same task with the same opening")
def selectors_agree(probe: Probe) -> None:
    by_place = probe.open()
    probe.close(by_place)
    by_id = probe.open(split=None, index=None, task_id=probe.task.task_id)
    probe.same(by_place.task, probe.task, "the task by split and index")
    probe.same(by_id.task, probe.task, "the task by id")
    if probe.metadata.deterministic:
        probe.same(by_id.messages, by_place.messages, "the opening by id")
