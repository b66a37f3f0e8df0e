"""The tasks: one a question, in the order of their source. Ids are ``search/<split>/<index>``."""

from collections.abc import Callable

from turngym.environment import TaskSet
from turngym.numbered import parse_task_id
from turngym.schema import SPLITS, Split, TaskInfo
from turngym_search.questions import Question, QuestionSource


class SearchTasks(TaskSet):
    """The questions of a source, which is read when a task is first asked for."""

    def __init__(self, read: Callable[[], QuestionSource]) -> None:
        self._read = read
        self._source: QuestionSource | None = None

    @property
    def source(self) -> QuestionSource:
        """The questions. Raises QuestionsError if they can't be read."""
        if self._source is None:
            self._source = self._read()
        return self._source

    def count(self, split: Split) -> int:
        """How many questions the split has."""
        return len(self.source.splits[split])

    def at(self, split: Split, index: int) -> TaskInfo:
        """The task at ``index``; ``info`` has what is known of the question, and the most turns that
        the expert takes: fewer where one search shows two passages."""
        if index < 0:
            raise IndexError(index)
        question = self.source.splits[split][index]
        return TaskInfo(
            task_id=f"search/{split}/{index}",
            split=split,
            index=index,
            goal=question.text,
            info={**question.about, "expert_turns": max(1, len(set(question.gold))) + 1},
        )

    def get(self, task_id: str) -> TaskInfo:
        """The task of that id. Raises KeyError."""
        folder, index = parse_task_id(task_id)
        for split in SPLITS:
            if folder == f"search/{split}" and index < self.count(split):
                return self.at(split, index)
        raise KeyError(task_id)

    def question(self, task: TaskInfo) -> Question:
        """The question behind a task."""
        return self.source.splits[task.split][task.index]
