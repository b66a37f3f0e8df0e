"""The thin layer between ASGI and the routes: one request, one answer, every error a problem document.

Handlers are plain coroutines ``Call -> Reply``. There is no middleware between them and the server but a token check where a
token is set: a step has to cost little more than the bytes it moves.
"""

import hmac
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, SecretStr, ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route, Router

from turngym.problems import MEDIA_TYPE, ProblemError
from turngym.ui import HEADERS, Asset

logger = logging.getLogger("turngym.server")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
AnyModel = TypeVar("AnyModel", bound=BaseModel)

ASSET_HEADERS = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())
_JSON = b"application/json"
_PROBLEM = MEDIA_TYPE.encode()


class Call:
    """One request: its path parameters, headers and body."""

    __slots__ = ("_limit", "_receive", "scope")

    def __init__(self, scope: Scope, receive: Receive, limit: int) -> None:
        self.scope = scope
        self._receive = receive
        self._limit = limit

    def path(self, name: str) -> str:
        """A parameter of the path, decoded."""
        value: str = self.scope["path_params"][name]
        return value

    def header(self, name: bytes) -> str | None:
        """A header's value; ``name`` is in lower case."""
        for key, value in self.scope["headers"]:
            if key == name:
                text: str = value.decode("latin-1")
                return text
        return None

    async def body(self) -> bytes:
        """The body. Raises the problem ``too_large``, as soon as that is known."""
        length = self.header(b"content-length")
        if length is not None and int(length) > self._limit:
            raise self._too_large()
        message = await self._receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body", False):
            if len(body) > self._limit:
                raise self._too_large()
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ProblemError("bad_json", "the client left before its body was complete")
            body += message.get("body", b"")
        if len(body) > self._limit:
            raise self._too_large()
        return body

    async def model(self, model: type[AnyModel]) -> AnyModel:
        """The body as ``model``. Raises the problems ``bad_json`` and ``invalid_request``."""
        return parse(model, await self.body())

    def _too_large(self) -> ProblemError:
        return ProblemError("too_large", f"the body may have {self._limit} bytes")


class Reply:
    """An answer: its status, body and headers."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self,
        status: int,
        body: bytes,
        media_type: bytes = _JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.status = status
        self.body = body
        self.media_type = media_type
        self.headers = headers

    async def send(self, send: Send) -> None:
        """Answer with it."""
        headers = [
            (b"content-type", self.media_type),
            (b"content-length", b"%d" % len(self.body)),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


Handler = Callable[[Call], Awaitable[Reply]]


class Endpoint:
    """A handler as an ASGI application: what it raises becomes a problem document, and is counted."""

    def __init__(self, handler: Handler, max_body_bytes: int, count: Callable[[str], None]) -> None:
        self._handler = handler
        self._limit = max_body_bytes
        self._count = count
        self.__name__ = getattr(handler, "__name__", "endpoint")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            reply = await self._handler(Call(scope, receive, self._limit))
        except ProblemError as problem:
            self._count(problem.code)
            reply = problem_reply(problem)
        except Exception:
            told = {"session_id": scope.get("path_params", {}).get("session_id")}
            logger.exception("%s %s failed", scope["method"], scope["path"], extra=told)
            self._count("internal")
            reply = problem_reply(ProblemError("internal", "the server made a mistake; its log says which"))
        await reply.send(send)


class RouterErrors:
    """Turns the router's own 404 and 405 into problem documents; ``methods`` of a path are gathered from its routes."""

    def __init__(self, router: Router, hint: str, count: Callable[[str], None]) -> None:
        self._router = router
        self._hint = hint
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            path, method = scope["path"], scope["method"]
            if error.status_code == 405:
                allowed = ", ".join(self._methods(scope))
                problem = ProblemError("method_not_allowed", f"{path} takes {allowed}, not {method}")
                headers: tuple[tuple[bytes, bytes], ...] = ((b"allow", allowed.encode()),)
            else:
                problem = ProblemError("not_found", f"there is nothing at {path}; {self._hint}")
                headers = ()
            self._count(problem.code)
            reply = problem_reply(problem)
            reply.headers += headers
            await reply.send(send)

    def _methods(self, scope: Scope) -> list[str]:
        methods: set[str] = set()
        for route in self._router.routes:
            if isinstance(route, Route) and route.matches(scope)[0] is not Match.NONE:
                methods |= route.methods or set()
        return sorted(methods)


class TokenGate:
    """Lets through only calls with the bearer token, and those to open paths. Compares in constant time."""

    def __init__(
        self, app: App, token: str, open_paths: frozenset[str], count: Callable[[str], None]
    ) -> None:
        self._app = app
        self._expected = b"Bearer " + token.encode()
        self._open_paths = open_paths
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self._open_paths:
            given = b"".join(value for name, value in scope["headers"] if name == b"authorization")
            if not hmac.compare_digest(given, self._expected):
                self._count("unauthorized")
                problem = ProblemError("unauthorized", "send the header 'Authorization: Bearer <token>'")
                await problem_reply(problem).send(send)
                return
        await self._app(scope, receive, send)


def guarded(
    router: Router,
    token: SecretStr | None,
    open_paths: frozenset[str],
    hint: str,
    count: Callable[[str], None],
) -> App:
    """What lies between the socket and the routes: problem documents for what is not there, and the token where one is set.

    :param open_paths: the paths that need no token.
    :param hint: what the problem says to somebody who asks for a path that isn't there.
    """
    app = RouterErrors(router, hint, count)
    return app if token is None else TokenGate(app, token.get_secret_value(), open_paths, count)


def asset_handler(asset: Asset) -> Handler:
    """Sends a static file; to those who have it already, only that."""
    headers = ((b"etag", asset.etag.encode()), *ASSET_HEADERS)

    async def send(call: Call) -> Reply:
        same = call.header(b"if-none-match") == asset.etag
        return Reply(304 if same else 200, b"" if same else asset.body, asset.media_type.encode(), headers)

    return send


def problem_reply(problem: ProblemError) -> Reply:
    """The problem document as an answer."""
    headers: list[tuple[bytes, bytes]] = []
    if problem.retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, round(problem.retry_after))))
    if problem.code == "unauthorized":
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.code == "too_large":
        headers.append((b"connection", b"close"))
    body = problem.document().model_dump_json().encode()
    return Reply(problem.kind.status, body, _PROBLEM, tuple(headers))


def parse(model: type[AnyModel], body: bytes) -> AnyModel:
    """``body`` as ``model``. Raises the problems ``bad_json`` and ``invalid_request``."""
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise validation_problem(error) from None


def query(call: Call, model: type[AnyModel]) -> AnyModel:
    """The query string as ``model``. Raises the problem ``invalid_request``."""
    pairs = parse_qsl(call.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    try:
        return model.model_validate(dict(pairs))
    except ValidationError as error:
        raise validation_problem(error) from None


def validation_problem(error: ValidationError) -> ProblemError:
    """What pydantic found, as a problem: the first few places and what is wrong there."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    if errors[0]["type"] == "json_invalid":
        return ProblemError("bad_json", errors[0]["msg"])
    found = [": ".join(filter(None, [".".join(map(str, item["loc"])), item["msg"]])) for item in errors[:3]]
    return ProblemError("invalid_request", "; ".join(found))


def json_reply(content: Any, status: int = 200) -> Reply:
    """``content``, a model or plain data, as JSON."""
    body = content.model_dump_json().encode() if isinstance(content, BaseModel) else orjson.dumps(content)
    return Reply(status, body)
