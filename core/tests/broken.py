"""A toy server with one deliberate mistake per check, to prove that each check can fail.

``/broken/step-repeat/sessions`` is ``/sessions`` of a server that breaks the rule of the check "step-repeat" and little else;
``/sessions`` is the healthy one. The mistakes are made on the way in (another request reaches the application) or on
the way out (another answer leaves it). Run as a program it serves: ``python broken.py PORT``.
"""

import json
import re
import secrets
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import uvicorn
from toy import Toy

from turngym.problems import MEDIA_TYPE, ProblemError
from turngym.server.app import create_app
from turngym.server.settings import load_settings

Json = Any
SESSION = r"/sessions/[^/]+"
STEP = SESSION + "/step"


@dataclass(frozen=True)
class Request:
    """What a client sends; ``target`` is the path as it was sent, with its query."""

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def without(self, name: bytes) -> "Request":
        """Without a header."""
        return replace(self, headers=[header for header in self.headers if header[0] != name])

    def to(self, method: str, path: str) -> bool:
        """Whether it is a call of that route."""
        return self.method == method and re.fullmatch(path, self.target.partition("?")[0]) is not None


@dataclass(frozen=True)
class Answer:
    """What the server says."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def without(self, name: bytes) -> "Answer":
        """Without a header."""
        return replace(self, headers=[header for header in self.headers if header[0] != name])

    def saying(self, content: Json) -> "Answer":
        """With another body."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        length = (b"content-length", str(len(body)).encode())
        return replace(
            self.without(b"content-length"),
            body=body,
            headers=[*self.without(b"content-length").headers, length],
        )


Forward = Callable[[Request], Awaitable[Answer]]
Mistake = Callable[[Request, Forward], Awaitable[Answer]]
MISTAKES: dict[str, Mistake] = {}


def mistake(name: str) -> Callable[[Mistake], Mistake]:
    """Registers a mistake for the check of that name."""

    def register(made: Mistake) -> Mistake:
        assert name not in MISTAKES
        MISTAKES[name] = made
        return made

    return register


def refusal(code: str) -> Answer:
    """A problem document."""
    problem = ProblemError(code, "by mistake")
    headers = [(b"content-type", MEDIA_TYPE.encode())]
    return Answer(problem.kind.status, headers, b"").saying(problem.document().model_dump())


def out(name: str, method: str, path: str, edit: Callable[[Json], Json]) -> None:
    """The mistake of editing the answers' JSON; ``edit`` returns the new content, or None after changing it in place."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        answer = await forward(request)
        if not request.to(method, path) or answer.status >= 400:
            return answer
        content = json.loads(answer.body)
        edited = edit(content)
        return answer.saying(content if edited is None else edited)


def into(name: str, method: str, path: str, edit: Callable[[Json], Json]) -> None:
    """The mistake of editing the requests' JSON before the application reads it."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        if request.to(method, path):
            content = json.loads(request.body)
            edited = edit(content)
            body = json.dumps(content if edited is None else edited).encode()
            length = (b"content-length", str(len(body)).encode())
            bare = request.without(b"content-length")
            request = replace(bare, body=body, headers=[*bare.headers, length])
        return await forward(request)


def status(name: str, method: str, path: str, right: int, wrong: int) -> None:
    """The mistake of answering another status."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        answer = await forward(request)
        return (
            replace(answer, status=wrong) if request.to(method, path) and answer.status == right else answer
        )


def other_problem(name: str, right: str, wrong: str, path: str = ".*") -> None:
    """The mistake of another problem."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        answer = await forward(request)
        wrongly = f'"code":"{right}"'.encode() in answer.body and re.fullmatch(path, request.target)
        return refusal(wrong) if wrongly else answer


def target(name: str, right: str, wrong: str) -> None:
    """The mistake of reading another path or query."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        return await forward(replace(request, target=request.target.replace(right, wrong)))


def header(name: str, lost: bytes, path: str = ".*") -> None:
    """The mistake of not reading a header."""

    @mistake(name)
    async def made(request: Request, forward: Forward) -> Answer:
        return await forward(request.without(lost) if request.to(request.method, path) else request)


# -- the service -------------------------------------------------------------------------------------------------------

out("index", "GET", "/", lambda body: body.pop("links") and None)
status("health", "GET", "/health", 200, 500)
out("ready", "GET", "/ready", lambda body: body | {"missing": ["an index"]})
out("metadata", "GET", "/metadata", lambda body: body | {"default_max_turns": body["max_turns"] + 1})
out("grammar", "GET", "/metadata", lambda body: body["grammar"]["commands"][0].update(example=" "))
out("splits", "GET", "/metadata", lambda body: body["splits"].pop("validation") and None)
out("schema", "GET", "/schema", lambda body: json.loads(json.dumps(body).replace('"Transcript"', '"Record"')))
out("openapi", "GET", "/openapi.json", lambda body: body["paths"].pop("/batch/step") and None)


@mistake("metrics")
async def _no_sessions_in_metrics(request: Request, forward: Forward) -> Answer:
    answer = await forward(request)
    return (
        answer.saying(answer.body.replace(b"session", b"thing")) if request.target == "/metrics" else answer
    )


# -- tasks -------------------------------------------------------------------------------------------------------------

out("task-total", "GET", "/tasks", lambda body: body | {"total": body["total"] + 1})
target("task-paging", "offset=2", "offset=1")
target("task-page-limits", "limit=0", "limit=1")
out("task-fields", "GET", "/tasks", lambda body: [task.update(goal="") for task in body["tasks"]] and None)
target("task-by-id", "%2F", "%252F")
other_problem("unknown-task", "unknown_task", "not_found", "/tasks/.*")
into("selectors-agree", "POST", "/sessions", lambda body: body | ({"seed": 9} if "task_id" in body else {}))


def _same_ids(body: Json) -> None:
    for task in body["tasks"]:
        task["task_id"] = task["task_id"].replace("/test/", "/train/")


out("task-ids-unique", "GET", "/tasks", _same_ids)

# -- requests ----------------------------------------------------------------------------------------------------------

KNOWN = {
    "session_id",
    "task_id",
    "split",
    "index",
    "seed",
    "max_turns",
    "options",
    "actions",
    "action",
    "turn",
}


@mistake("problem-document")
async def _plain_json(request: Request, forward: Forward) -> Answer:
    answer = await forward(request)
    if answer.status < 400:
        return answer
    bare = answer.without(b"content-type")
    return replace(bare, headers=[*bare.headers, (b"content-type", b"application/json")])


@mistake("problem-session")
async def _whose_problem(request: Request, forward: Forward) -> Answer:
    answer = await forward(request)
    return answer.saying(json.loads(answer.body) | {"session_id": None}) if answer.status >= 400 else answer


other_problem("bad-json", "bad_json", "invalid_request")
into(
    "unknown-field",
    "POST",
    f"/sessions|{STEP}",
    lambda body: {name: body[name] for name in body if name in KNOWN},
)
into("wrong-value", "POST", "/sessions", lambda body: body | {"seed": max(0, body.get("seed", 0))})
into("one-selector", "POST", "/sessions", lambda body: body.pop("task_id", None) and None)
into(
    "session-id-form",
    "POST",
    "/sessions",
    lambda body: body | {"session_id": body["session_id"].ljust(12, "x")},
)
header("header-mismatch", b"x-session-id")
into("unknown-option", "POST", "/sessions", lambda body: body | {"options": {}})
into(
    "horizon-ceiling",
    "POST",
    "/sessions",
    lambda body: body | {"max_turns": min(50, body.get("max_turns", 8))},
)
other_problem("unknown-session", "unknown_session", "not_found", f"{SESSION}/transcript")


@mistake("not-found")
async def _plain_text(request: Request, forward: Forward) -> Answer:
    answer = await forward(request)
    return answer.saying(b"Not Found") if b'"not_found"' in answer.body else answer


@mistake("method-not-allowed")
async def _no_allow(request: Request, forward: Forward) -> Answer:
    return (await forward(request)).without(b"allow")


# -- sessions ----------------------------------------------------------------------------------------------------------

status("create", "POST", "/sessions", 201, 200)
into("default-horizon", "POST", "/sessions", lambda body: {"max_turns": 7} | body)
status("create-repeat", "POST", "/sessions", 200, 201)
into("create-conflict", "POST", "/sessions", lambda body: body | {"seed": 0})
header("create-id", b"x-session-id", "/sessions")
out("get-latest", "GET", SESSION, lambda body: body["observation"].update(text="?"))
out("list-open", "GET", "/sessions", lambda body: body | {"sessions": [], "total": 0})
out("transcript", "GET", f"{SESSION}/transcript", lambda body: body["turns"].reverse())
out("actions", "GET", f"{SESSION}/actions", lambda body: body | {"actions": [""]})
out("expert", "GET", f"{SESSION}/expert", lambda body: body | {"action": " "})
out("close", "DELETE", SESSION, lambda body: body | {"stop_reason": "expired"})
other_problem("closed", "session_closed", "session_finished")
out("fork", "POST", f"{SESSION}/fork", lambda body: body["observation"].update(text="?"))
into("fork-turn", "POST", f"{SESSION}/fork", lambda body: body.pop("turn", None) and None)
out(
    "fork-routing-key",
    "POST",
    f"{SESSION}/fork",
    lambda body: body | {"session_id": secrets.token_urlsafe(15)},
)
into("fork-repeat", "POST", f"{SESSION}/fork", lambda body: body.pop("session_id", None) and None)
_deleted: set[str] = set()


@mistake("close-repeat")
async def _gone(request: Request, forward: Forward) -> Answer:
    again = request.method == "DELETE" and request.target in _deleted
    _deleted.update([request.target] if request.method == "DELETE" else [])
    return refusal("session_closed") if again else await forward(request)


# -- episodes ----------------------------------------------------------------------------------------------------------

out("step", "POST", STEP, lambda body: body | {"info": {}})
out("reward", "POST", STEP, lambda body: body | {"score": 1.5})
out("open-episode", "POST", STEP, lambda body: body | {"success": False})
into("step-repeat", "POST", STEP, lambda body: body.pop("turn", None) and None)
into("turn-conflict", "POST", STEP, lambda body: body | {"action": body["action"].strip()})
into("turn-gap", "POST", STEP, lambda body: body.pop("turn", None) and None)
out("horizon", "POST", STEP, lambda body: body | {"truncated": False})
other_problem("finished", "session_finished", "session_closed")
out("determinism", "POST", STEP, lambda body: body["observation"].update(text=secrets.token_hex()))
into("rebuild", "POST", "/sessions", lambda body: body.pop("actions", None) and None)


@mistake("step-without-turn")
async def _turn_or_nothing(request: Request, forward: Forward) -> Answer:
    without = request.to("POST", STEP) and "turn" not in json.loads(request.body)
    return refusal("invalid_request") if without else await forward(request)


@mistake("step-repeat-closed")
async def _closed_wins(request: Request, forward: Forward) -> Answer:
    _deleted.update([request.target] if request.method == "DELETE" else [])
    over = request.target.removesuffix("/step") in _deleted and request.method == "POST"
    return refusal("session_closed") if over else await forward(request)


@mistake("unreadable-action")
async def _unreadable_is_an_error(request: Request, forward: Forward) -> Answer:
    empty = request.to("POST", STEP) and not json.loads(request.body)["action"]
    return refusal("invalid_request") if empty else await forward(request)


# -- batches -----------------------------------------------------------------------------------------------------------

out("batch-create", "POST", "/batch/sessions", lambda body: body["results"].reverse())
out("batch-step", "POST", "/batch/step", lambda body: body["results"].reverse())
out("batch-close", "POST", "/batch/close", lambda body: body["results"].reverse())
out("batch-twice", "POST", "/batch/step", lambda body: body["results"][-1].update(status=409))
into("batch-size", "POST", "/batch/close", lambda body: {"session_ids": body["session_ids"][:256]})


@mistake("batch-problem")
async def _all_or_nothing(request: Request, forward: Forward) -> Answer:
    answer = await forward(request)
    failed = request.to("POST", "/batch/step") and b'"problem":{' in answer.body
    return refusal("unknown_session") if failed else answer


# -- the application ---------------------------------------------------------------------------------------------------

HEALTHY = create_app(Toy(forkable=True), load_settings({}, journal="off", experts=True))


async def _ask(scope: Json, request: Request) -> Answer:
    """What the healthy application answers."""
    path, _, query = request.target.partition("?")
    inner = scope | {
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": request.headers,
    }
    said: list[Json] = []
    parts = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Json:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: Json) -> None:
        said.append(message)

    await HEALTHY(inner, receive, send)
    body = b"".join(message.get("body", b"") for message in said[1:])
    return Answer(said[0]["status"], list(said[0].get("headers", [])), body)


async def app(scope: Json, receive: Json, send: Json) -> None:
    """The healthy application, and under /broken/NAME the one with that mistake."""
    if scope["type"] != "http":
        await HEALTHY(scope, receive, send)
        return
    raw: str = scope["raw_path"].decode()
    query = scope["query_string"].decode()
    found = re.match(r"/broken/([a-z-]+)(/.*)", raw)
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    path = found[2] if found else raw
    request = Request(scope["method"], path + (f"?{query}" if query else ""), list(scope["headers"]), body)

    async def forward(changed: Request) -> Answer:
        return await _ask(scope, changed)

    answer = await (MISTAKES[found[1]](request, forward) if found else forward(request))
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
