"""The models of the wire protocol, and nothing else: what a request may hold and what a response does hold.

Every service answers with exactly these. Unknown fields are refused (``extra="forbid"``), so a misspelt key is an
error and never a silent default. Texts are UTF-8; rewards and scores are plain floats; times are seconds unless a
name ends in ``_ms``.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

SESSION_ID_PATTERN = r"^[A-Za-z0-9_-]{12,64}$"
MAX_BATCH = 256
GREATEST = 2**31 - 1  # of a turn in a request, so that a journal can hold it

SessionId = Annotated[str, StringConstraints(pattern=SESSION_ID_PATTERN)]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class Model(BaseModel):
    """Base of every wire model: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class StopReason(StrEnum):
    """Why an episode is over. ``terminated`` and ``truncated`` follow from it."""

    SUCCESS = "success"  # the environment says the goal is reached
    FAILURE = "failure"  # the environment says the goal can't be reached any more
    AGENT_STOP = "agent_stop"  # the agent ended the episode; the evaluator decided on success
    MAX_TURNS = "max_turns"  # the horizon is used up
    INVALID_LIMIT = "invalid_limit"  # too many unreadable actions in a row
    CLOSED = "closed"  # a client deleted the session before its end
    EXPIRED = "expired"  # nobody called for longer than the session's time to live

    @property
    def terminated(self) -> bool:
        """True if the episode ended by the rules of the environment or by the agent's word."""
        return self in (StopReason.SUCCESS, StopReason.FAILURE, StopReason.AGENT_STOP)


class Message(Model):
    """One chat message, in the form that chat templates take."""

    role: Literal["system", "user", "assistant"]
    content: str


class Observation(Model):
    """What the agent perceives. ``text`` is the content of the next user message, verbatim."""

    text: str
    data: dict[str, Any] | None = None
    image: str | None = Field(
        default=None, description="base64 PNG, only where the session asked for pictures"
    )


class TaskInfo(Model):
    """What is public about a task. Never its answer."""

    task_id: str
    split: Split
    index: int = Field(ge=0, description="position in the split, from 0")
    goal: str
    info: dict[str, Any] = Field(default_factory=dict, description="e.g. depth, level, family")


class TaskPage(Model):
    """One page of the task list."""

    tasks: list[TaskInfo]
    total: int
    offset: int
    limit: int


class SessionRequest(Model):
    """Starts an episode. Exactly one selector: ``task_id``, or ``split`` with ``index``."""

    session_id: SessionId | None = Field(
        default=None, description="minted by the client, so that a retry is safe"
    )
    task_id: str | None = None
    split: Split | None = None
    index: int | None = Field(default=None, ge=0)
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    max_turns: int | None = Field(
        default=None, ge=1, le=GREATEST, description="the horizon; the ceiling is in /metadata"
    )
    options: dict[str, Any] = Field(default_factory=dict, description="validated by the environment")
    actions: list[str] = Field(
        default_factory=list, description="played before the first answer: rebuilds a session"
    )

    @model_validator(mode="after")
    def _one_selector(self) -> "SessionRequest":
        by_place = self.split is not None or self.index is not None
        if (self.task_id is not None) == by_place:
            raise ValueError("give exactly one selector: task_id, or split with index")
        if by_place and (self.split is None or self.index is None):
            raise ValueError("split and index belong together")
        return self


class StepRequest(Model):
    """One turn. ``turn`` is the number this step will have, 1 for the first; it makes a repeat harmless."""

    action: str
    turn: int | None = Field(default=None, ge=1, le=GREATEST)


class ForkRequest(Model):
    """A new session in the state after ``turn`` (default: now)."""

    session_id: SessionId | None = None
    turn: int | None = Field(default=None, ge=0, le=GREATEST)


class StepResult(Model):
    """The state of a session after a turn: the answer to create, step, get and fork."""

    session_id: str
    task: TaskInfo
    turn: int = Field(ge=0, description="turns played, 0 after create")
    max_turns: int = Field(ge=1)
    observation: Observation
    messages: list[Message] | None = Field(
        default=None,
        description="the opening chat, on create and fork; its last user message is the first observation",
    )
    reward: float = Field(description="of this turn")
    score: float = Field(ge=0, le=1, description="of the episode so far")
    success: bool | None = Field(description="null while the episode is open")
    terminated: bool
    truncated: bool
    stop_reason: StopReason | None
    info: dict[str, Any] = Field(default_factory=dict)


class TranscriptTurn(Model):
    """One played turn, as the journal holds it. ``time`` is Unix seconds."""

    turn: int
    action: str
    observation: Observation
    reward: float
    time: float
    info: dict[str, Any] = Field(default_factory=dict)


class Transcript(Model):
    """The whole episode so far: opening messages and every turn."""

    session_id: str
    task: TaskInfo
    seed: int
    options: dict[str, Any]
    messages: list[Message]
    turns: list[TranscriptTurn]
    max_turns: int
    score: float
    success: bool | None
    terminated: bool
    truncated: bool
    stop_reason: StopReason | None


class SessionSummary(Model):
    """What remains to say about a session that is over: the answer to DELETE."""

    session_id: str
    task_id: str
    turn: int
    score: float
    success: bool
    terminated: bool
    truncated: bool
    stop_reason: StopReason


class SessionPage(Model):
    """One page of the open sessions, oldest first."""

    sessions: list[StepResult]
    total: int
    offset: int
    limit: int


class ActionList(Model):
    """The valid actions of the current state, where the environment can list them."""

    actions: list[str]


class ExpertAction(Model):
    """What the expert would do now."""

    action: str


class ModelAction(Model):
    """What the server's language model would write as the next turn, whole."""

    action: str


class Command(Model):
    """One command of an environment: ``template`` with ``{slots}``, what it does, and a concrete ``example``."""

    template: str
    description: str
    example: str


class ActionGrammar(Model):
    """How the server reads the agent's raw turn text; ``turngym.parsing`` applies it.

    ``forms`` are tried in this order. ``tags`` names the XML-like tags that hold an action where the form "tags" is used.
    ``stop`` lists the strings at which a sampler should stop. ``multiline``: an action may hold line breaks, so a fenced
    block, all that stands after ``Action:``, or the whole bare text is one action.
    """

    forms: list[Literal["react", "fenced", "tags", "bare"]]
    commands: list[Command]
    tags: list[str] = Field(default_factory=list)
    stop: list[str] = Field(default_factory=list)
    multiline: bool = False


class Metadata(Model):
    """What a client must know about a service before it opens a session."""

    name: str
    version: str
    protocol_version: str
    description: str
    instruction: str
    grammar: ActionGrammar
    splits: dict[Split, int]
    default_max_turns: int
    max_turns: int = Field(description="greatest horizon a session may ask for")
    reward_range: tuple[float, float]
    deterministic: bool
    forkable: bool
    max_sessions: int
    shared_state: str | None = Field(default=None, description="a warning, where sessions share state")
    options: dict[str, Any] = Field(description="JSON schema of a session's options")
    data_hash: str = Field(description="sha256 over what the tasks are made from")


class Readiness(Model):
    """Whether the service's dependencies are loaded; ``missing`` and ``progress`` (0..1) where they are not."""

    ready: bool
    missing: list[str] = Field(default_factory=list)
    progress: float = Field(ge=0, le=1)


class BatchCreate(Model):
    """Up to 256 sessions to open."""

    entries: list[SessionRequest] = Field(min_length=1, max_length=MAX_BATCH)


class BatchStepEntry(StepRequest):
    """One step of a batch, with the session it is for."""

    session_id: SessionId


class BatchStep(Model):
    """Up to 256 steps, each of another session."""

    entries: list[BatchStepEntry] = Field(min_length=1, max_length=MAX_BATCH)


class BatchClose(Model):
    """Up to 256 sessions to end."""

    session_ids: list[SessionId] = Field(min_length=1, max_length=MAX_BATCH)


class Problem(BaseModel):
    """An RFC 9457 problem document (``application/problem+json``)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    session_id: str | None = None


class BatchEntry(Model):
    """One answer of a batch: ``result`` where ``status`` is below 400, else ``problem``."""

    status: int
    result: StepResult | SessionSummary | None = None
    problem: Problem | None = None


class BatchResult(Model):
    """The answers of a batch, in the order of its entries."""

    results: list[BatchEntry]
