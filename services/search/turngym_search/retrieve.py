"""``POST /retrieve``: passages for queries, as Search-R1's retrieval server answers, so that its trainers can point here.

With ``return_scores`` a hit is ``{"document": {"id", "contents"}, "score"}``; without, it is the bare document. ``topk`` may
be left out, null or 0 for the server's default. Fields that are not known are left alone, as that server does.
"""

from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from turngym.environment import BackendUnavailable
from turngym.problems import ProblemError
from turngym.server.http import Call, Reply, json_reply, validation_problem
from turngym.server.routes import RouteDoc
from turngym_search.engine import Engine
from turngym_search.retrieval import Hit

MAX_QUERIES = 4096
MAX_TOPK = 1000


class RetrieveRequest(BaseModel):
    """What to look for. ``topk`` passages are wanted for each query."""

    queries: Annotated[list[str], Field(max_length=MAX_QUERIES)]
    topk: Annotated[int, Field(ge=0, le=MAX_TOPK)] | None = None
    return_scores: bool = False


class Document(BaseModel):
    """A passage; ``contents`` is its title in double quotes, a line break, and its text."""

    id: str
    contents: str


class ScoredDocument(BaseModel):
    """A passage with its score."""

    document: Document
    score: float


class RetrieveAnswer(BaseModel):
    """For each query its passages, best first: with scores where they were asked for."""

    result: list[list[ScoredDocument]] | list[list[Document]]


class Retrieve:
    """The route. ``engine`` is set when the index is loaded; until then calls are ``not_ready``."""

    def __init__(self, topk: int) -> None:
        self._topk = topk
        self.engine: Engine | None = None

    def routes(self) -> list[RouteDoc]:
        """The route with its documentation."""
        problems = (
            "bad_json",
            "too_large",
            "invalid_request",
            "not_ready",
            "backend_unavailable",
            "internal",
        )
        summary = "Passages for queries, in the form of Search-R1's retrieval server"
        return [
            RouteDoc(
                "POST", "/retrieve", self.retrieve, summary, {200: RetrieveAnswer}, problems, RetrieveRequest
            )
        ]

    async def retrieve(self, call: Call) -> Reply:
        """Answer a request. Raises ProblemError."""
        body = await call.body()
        if self.engine is None:
            raise ProblemError("not_ready", "the index is loading; GET /ready says when", retry_after=1)
        try:
            request = RetrieveRequest.model_validate_json(body)
        except ValidationError as error:
            raise validation_problem(error) from None
        try:
            found = await self.engine.search(request.queries, request.topk or self._topk)
        except BackendUnavailable as error:
            raise ProblemError("backend_unavailable", str(error), retry_after=error.retry_after) from None
        return json_reply(
            {"result": [[_shown(hit, request.return_scores) for hit in hits] for hits in found]}
        )


def _shown(hit: Hit, with_score: bool) -> dict[str, Any]:
    document = {"id": hit.passage.id, "contents": hit.passage.contents}
    return {"document": document, "score": hit.score} if with_score else document
