"""The service's own pages: metadata, tasks, documentation, metrics, settings; and an API that no input can break."""

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import positive_data_acceptance
from served import Served, ServerFactory
from talk import create, played, problem
from toy import Toy

from turngym.problems import PROBLEMS
from turngym.schema import Metadata, StepResult, Transcript
from turngym.server import document
from turngym.server.metrics import Metrics
from turngym.server.routes import Routes
from turngym.server.settings import Settings, SettingsError, load_settings


def test_metadata_fits_its_model(http: httpx.Client) -> None:
    metadata = Metadata.model_validate(http.get("/metadata").json())
    assert metadata.splits == {"train": 40, "validation": 10, "test": 20}
    assert metadata.options["properties"]["step"]["default"] == 1
    assert metadata.deterministic and metadata.forkable


def test_answers_fit_their_models(http: httpx.Client) -> None:
    session = create(http)
    StepResult.model_validate(session)
    StepResult.model_validate(played(http, session, "add 1", 1))
    Transcript.model_validate(http.get(f"/sessions/{session['session_id']}/transcript").json())


def test_task_ids_have_slashes_plain_or_encoded(http: httpx.Client) -> None:
    plain = http.get("/tasks/toy/test/17").json()
    assert plain["task_id"] == "toy/test/17"
    assert http.get("/tasks/toy%2Ftest%2F17").json() == plain


def test_tasks_are_paged(http: httpx.Client) -> None:
    page = http.get("/tasks?split=test&offset=18&limit=5").json()
    assert [task["index"] for task in page["tasks"]] == [18, 19]
    assert (page["total"], page["offset"], page["limit"]) == (20, 18, 5)
    assert http.get("/tasks?split=test&offset=99999999999").json()["tasks"] == []


def test_the_index_links_to_pages_that_are_there(http: httpx.Client) -> None:
    index = http.get("/").json()
    assert index["name"] == "toy" and index["protocol_version"]
    for path in index["links"].values():
        assert not path.startswith("/"), f"{path} leads elsewhere behind a gateway's prefix"
        assert http.get(path).status_code == 200, path
    assert "url: 'openapi.json'" in http.get("/docs").text


def test_the_playground_needs_no_token_but_what_it_asks_does(serve: ServerFactory) -> None:
    with serve(token="t", model="small").client() as client:
        page = client.get("/ui")
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
        assert client.get("/ui", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
        assert client.get("/ui/base.css").headers["content-type"].startswith("text/css")
        problem(client.get("/ui/abilities"), "unauthorized")
        problem(client.get("/ui/../metadata"), "unauthorized")
        told = client.get("/ui/abilities", headers={"Authorization": "Bearer t"}).json()
        assert told == {"expert": False, "model": "small"}


def test_every_route_documents_its_answers_and_problems(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    codes: set[str] = set()
    for operations in document["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                schema = answer.get("content", {}).get("application/problem+json", {}).get("schema", {})
                codes |= set(schema.get("properties", {}).get("code", {}).get("enum", []))
    assert set(PROBLEMS) - codes == {"method_not_allowed", "unauthorized"}, "those are of no route"
    assert "StepRequest" in http.get("/schema").json()


def test_a_service_s_own_route_is_documented_and_guarded_like_the_others(serve: ServerFactory) -> None:
    with serve(token="s3cret", max_body_bytes=100).client() as http:
        problem(http.post("/toys", content=b"two"), "unauthorized")
        http.headers["Authorization"] = "Bearer s3cret"
        assert http.post("/toys", content=b"two").json() == {"toys": 3}
        problem(http.post("/toys", content=b"x" * 200), "too_large")
        problem(http.post("/toys", content=b"broken"), "internal")
        problem(http.get("/toys"), "method_not_allowed")
        described = http.get("/openapi.json").json()["paths"]["/toys"]["post"]
        assert {"200", "401", "413", "500"} <= described["responses"].keys()


def test_metrics_count_what_happens(serve: ServerFactory) -> None:
    with serve().client() as http:
        played(http, create(http), "add 3", 1)
        create(http)
        problem(http.get("/sessions/nobody-nobody"), "unknown_session")
        lines = http.get("/metrics").text.splitlines()
    for line in (
        "turngym_sessions_created_total 2.0",
        "turngym_sessions_open 1.0",
        'turngym_sessions_ended_total{stop_reason="success"} 1.0',
        'turngym_problems_total{code="unknown_session"} 1.0',
        "turngym_step_seconds_count 1.0",
        "turngym_environment_toys 1.0",
        "turngym_workers_quarantined 0.0",
        "turngym_create_queue 0.0",
        "turngym_session_slots 1024.0",
    ):
        assert line in lines, line


def test_the_expert_is_off_by_default(serve: ServerFactory) -> None:
    with serve().client() as http:
        session = create(http)
        problem(http.get(f"/sessions/{session['session_id']}/expert"), "not_supported")


def test_settings_take_the_strongest_source(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().port == 8000
    assert load_settings({"port": 8003}).port == 8003
    monkeypatch.setenv("TURNGYM_PORT", "8004")
    assert load_settings({"port": 8003}).port == 8004
    assert load_settings({"port": 8003}, port=8005).port == 8005
    assert load_settings({"port": 8003}, port=None).port == 8004


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "x"), ("PORT", "70000"), ("MAX_SESSIONS", "0"), ("SESSION_TTL_S", "-1"), ("LOG_FORMAT", "xml")],
)
def test_a_wrong_setting_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"TURNGYM_{name}", value)
    with pytest.raises(SettingsError, match=f"TURNGYM_{name}=") as raised:
        load_settings()
    assert "\n" not in str(raised.value)


def test_a_token_is_not_shown_in_errors_or_logs() -> None:
    assert "s3cret" not in repr(load_settings(token="s3cret"))
    assert set(Settings.model_fields) >= {"host", "port", "experts", "journal", "data_dir"}


def operations() -> dict[str, APIOperation]:
    """Every operation of the API's document, by its label."""
    toy, known = Toy(), load_settings()
    table = Routes(toy, known, Metrics(toy.gauges)).table()
    schema = schemathesis.openapi.from_dict(document.openapi(toy.spec, table, token=False))
    return {found.ok().label: found.ok() for found in schema.get_all_operations()}


OPERATIONS = operations()


@pytest.mark.parametrize("label", OPERATIONS)
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_input_breaks_the_api(shared: Served, label: str, mode: GenerationMode) -> None:
    """Random input, fitting and not: never a 500, and every answer is one that the document tells of.

    That fitting input is accepted is not asked: a schema can't say that a header equals the path, or "exactly one of".
    """

    @given(OPERATIONS[label].as_strategy(generation_mode=mode))
    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    def call(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=shared.url, excluded_checks=[positive_data_acceptance])

    try:
        call()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE, "there is no unfitting input where there is no input"
