"""The OpenAPI document, from the table of routes: every body, every answer and every problem of each route."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from turngym import PROTOCOL_VERSION
from turngym.environment import Spec
from turngym.problems import MEDIA_TYPE, PROBLEMS
from turngym.schema import SESSION_ID_PATTERN, Problem
from turngym.server.routes import RouteDoc

_REFERENCE = "#/components/schemas/{model}"


def schemas(routes: Iterable[RouteDoc]) -> dict[str, Any]:
    """The JSON schemas of all models that the routes take and give, by name."""
    models: set[type[BaseModel]] = {Problem}
    for route in routes:
        models |= {model for model in (route.body, *route.answers.values()) if model is not None}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, document = models_json_schema([(model, "validation") for model in ordered], ref_template=_REFERENCE)
    definitions: dict[str, Any] = document["$defs"]
    return definitions


def openapi(spec: Spec, routes: list[RouteDoc], token: bool) -> dict[str, Any]:
    """The document of a service."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path.replace(":path", ""), {})[route.method.lower()] = _operation(route, token)
    components: dict[str, Any] = {"schemas": schemas(routes)}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": f"TurnGym: {spec.name}", "version": spec.version, "description": spec.description},
        "servers": [{"url": "."}],  # where this document lies, behind a gateway's prefix too
        "paths": paths,
        "components": components,
        "x-protocol-version": PROTOCOL_VERSION,
    }
    if token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(route: RouteDoc, token: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": route.handler.__name__,
        "parameters": _parameters(route),
        "responses": {str(status): _answer(model) for status, model in route.answers.items()},
    }
    by_status: dict[int, list[str]] = {}
    anywhere = [*(["not_found"] if "{" in route.path else []), *(["unauthorized"] if token else [])]
    for code in (*route.problems, *anywhere):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, codes in by_status.items():
        operation["responses"][str(status)] = _problem(list(dict.fromkeys(codes)))
    if route.body is not None:
        content = {"application/json": {"schema": _reference(route.body)}}
        operation["requestBody"] = {"required": not route.body_optional, "content": content}
    return operation


def _parameters(route: RouteDoc) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    if "{session_id}" in route.path:
        parameters.append(
            {"name": "session_id", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    if "{task_id:path}" in route.path:
        parameters.append({"name": "task_id", "in": "path", "required": True, "schema": {"type": "string"}})
    if route.query is not None:
        for name, schema in route.query.model_json_schema()["properties"].items():
            parameters.append({"name": name, "in": "query", "required": False, "schema": schema})
    if "{session_id}" in route.path or (route.method, route.path) == ("POST", "/sessions"):
        schema = {"type": "string", "pattern": SESSION_ID_PATTERN}
        description = "for routing; must equal the id in the path or body"
        parameters.append(
            {
                "name": "X-Session-Id",
                "in": "header",
                "required": False,
                "schema": schema,
                "description": description,
            }
        )
    return parameters


def _answer(model: type[BaseModel] | None) -> dict[str, Any]:
    if model is None:
        return {"description": "OK"}
    return {"description": model.__name__, "content": {"application/json": {"schema": _reference(model)}}}


def _problem(codes: list[str]) -> dict[str, Any]:
    lines = [f"`{code}`: {PROBLEMS[code].title}" for code in codes]
    schema = {"allOf": [_reference(Problem)], "properties": {"code": {"enum": codes}}}
    answer: dict[str, Any] = {"description": "; ".join(lines), "content": {MEDIA_TYPE: {"schema": schema}}}
    if any(PROBLEMS[code].status == 503 for code in codes):
        answer["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    return answer


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
