"""Rules about the service as a whole: what it says of itself."""

from turngym import PROTOCOL_VERSION
from turngym.check.probe import Probe, check
from turngym.schema import SPLITS, Readiness

RESOURCES = (
    "/",
    "/health",
    "/ready",
    "/metadata",
    "/schema",
    "/metrics",
    "/tasks",
    "/tasks/{task_id}",
    "/sessions",
    "/sessions/{session_id}",
    "/sessions/{session_id}/step",
    "/sessions/{session_id}/transcript",
    "/sessions/{session_id}/actions",
    "/sessions/{session_id}/expert",
    "/sessions/{session_id}/fork",
    "/batch/sessions",
    "/batch/step",
    "/batch/close",
)
MODELS = (
    "SessionRequest",
    "StepRequest",
    "StepResult",
    "Transcript",
    "SessionSummary",
    "Metadata",
    "Problem",
)


@check("GET / gives name, version, protocol_version and links")
def index(probe: Probe) -> None:
    answer = probe.http.get("/")
    probe.status(answer, 200)
    body = probe.json(answer)
    for name in ("name", "version", "protocol_version", "links"):
        probe.holds(bool(body.get(name)), f"GET /: {name} is missing")


@check("GET /health answers 200")
def health(probe: Probe) -> None:
    probe.status(probe.http.get("/health"), 200)


@check("GET /ready answers 200 and says that all is loaded")
def ready(probe: Probe) -> None:
    state = probe.fits(Readiness, probe.http.get("/ready"), 200)
    probe.same((state.ready, state.missing, state.progress), (True, [], 1.0), "GET /ready")


@check("GET /metadata fits the schema, speaks this protocol, and its figures go together")
def metadata(probe: Probe) -> None:
    data = probe.metadata
    probe.same(data.protocol_version.split(".")[0], PROTOCOL_VERSION.split(".")[0], "major protocol_version")
    probe.holds(
        1 <= data.default_max_turns <= data.max_turns, "default_max_turns is not within 1 and max_turns"
    )
    probe.holds(data.reward_range[0] < data.reward_range[1], f"reward_range is {data.reward_range}")
    probe.holds(data.max_sessions >= 1, f"max_sessions is {data.max_sessions}")
    probe.holds(bool(data.instruction.strip()), "instruction is empty")


@check("the metadata's grammar has commands, each with an example")
def grammar(probe: Probe) -> None:
    said = probe.metadata.grammar
    probe.holds(bool(said.forms) and bool(said.commands), "the grammar has no form or no command")
    probe.holds(all(command.example.strip() for command in said.commands), "a command has no example")


@check("there are the splits train, validation and test, and no others")
def splits(probe: Probe) -> None:
    probe.same(sorted(probe.metadata.splits), sorted(SPLITS), "splits")
    probe.holds(any(probe.metadata.splits.values()), "no split has a task")


@check("GET /schema has the models of the protocol")
def schema(probe: Probe) -> None:
    answer = probe.http.get("/schema")
    probe.status(answer, 200)
    text = answer.text
    missing = [name for name in MODELS if f'"{name}"' not in text]
    probe.holds(not missing, f"GET /schema does not have {', '.join(missing)}")


@check("GET /openapi.json describes every resource, and /docs shows it")
def openapi(probe: Probe) -> None:
    answer = probe.http.get("/openapi.json")
    probe.status(answer, 200)
    paths = {path.replace(":path", "") for path in probe.json(answer)["paths"]}
    missing = [path for path in RESOURCES if path not in paths]
    probe.holds(not missing, f"GET /openapi.json does not describe {', '.join(missing)}")
    probe.status(probe.http.get("/docs"), 200)


@check("GET /metrics speaks Prometheus' text format and counts sessions")
def metrics(probe: Probe) -> None:
    answer = probe.http.get("/metrics")
    probe.status(answer, 200)
    probe.holds(
        answer.headers.get("content-type", "").startswith("text/plain"), "GET /metrics is not text/plain"
    )
    samples = [line for line in answer.text.splitlines() if line and not line.startswith("#")]
    probe.holds(any("session" in line for line in samples), "GET /metrics counts no sessions")
