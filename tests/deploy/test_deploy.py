"""What deploy/ holds is right as far as that shows without a cluster, Grafana or the registries' images.

Needs `promtool` (Debian: prometheus), `haproxy` and `kubectl` or `kustomize`; a test without its tool is skipped by name, and
`make test-deploy` says so. Manifests are held against the schemas of Kubernetes itself, which the package brings along.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from composed import ENVIRONMENTS
from served import ServerFactory, end, factory

from turngym.server.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = "1.33"


def run(*command: str, **environ: str) -> str:
    """What a tool prints; fails the test with its messages where it fails, skips it where there is no such tool."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    done = subprocess.run(command, text=True, capture_output=True, env={**os.environ, **environ})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rendered(folder: Path) -> list[dict[str, Any]]:
    """The manifests of a kustomization."""
    tool = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    return list(yaml.safe_load_all(run(*tool, str(folder))))


def test_every_environment_is_everywhere() -> None:
    """Each service of this repository: in the gateway's list (``ENVIRONMENTS``), Compose, Kubernetes and Prometheus."""
    assert set(ENVIRONMENTS) == {path.parent.name for path in ROOT.glob("services/*/pyproject.toml")}
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert {name for name in services if "profiles" not in services[name]} == {
        "gateway",
        "viewer",
        *ENVIRONMENTS,
    }
    published = dict(re.findall(r":-(\d+)\}:(\d+)$", entry)[0] for entry in services["gateway"]["ports"])
    assert published == {str(port): str(port) for port in (8000, *ENVIRONMENTS.values())}
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
    assert {entry for entry in listed if not entry.endswith(".yaml")} == set(ENVIRONMENTS)
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][0]
    assert {(*entry["names"], entry["port"]) for entry in scraped["dns_sd_configs"]} == set(
        ENVIRONMENTS.items()
    )


def test_environments_are_told_the_body_that_the_gateway_admits() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    told = services["gateway"]["environment"]["GATEWAY_MAX_BODY"]
    assert told == f"${{TURNGYM_MAX_BODY_BYTES:-{Settings().max_body_bytes}}}"
    for name in ENVIRONMENTS:
        assert services[name]["environment"]["TURNGYM_MAX_BODY_BYTES"] is None, "as in the shell"


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/monitor"])
def test_manifests_fit_the_schemas_of_kubernetes(folder: str) -> None:
    schemas = pytest.importorskip("kubernetes_validate")
    manifests = rendered(DEPLOY / folder)
    assert len(manifests) > 5
    for manifest in manifests:
        schemas.validate(manifest, KUBERNETES, strict=True)


def test_manifests_go_together() -> None:
    manifests = rendered(DEPLOY / "kubernetes")
    named = {(entry["kind"], entry["metadata"]["name"]): entry for entry in manifests}
    gateway = named["Deployment", "gateway"]["spec"]["template"]["spec"]["containers"][0]
    given = {entry["name"]: entry.get("value") for entry in gateway["env"]}
    headless = named["Service", "replicas"]
    assert headless["spec"]["clusterIP"] == "None"
    assert given["GATEWAY_AFTER"] == ".replicas.$(NAMESPACE).svc.cluster.local"
    selected = headless["spec"]["selector"].items()
    for name, port in ENVIRONMENTS.items():
        spec = named["StatefulSet", name]["spec"]
        template = spec["template"]
        assert spec["serviceName"] == "replicas" and selected <= template["metadata"]["labels"].items()
        (container,) = template["spec"]["containers"]
        assert (container["image"], container["ports"][0]["containerPort"]) == (f"turngym-{name}", port)
        assert spec["replicas"] <= int(given["GATEWAY_SLOTS"])


def test_every_pod_runs_with_no_more_rights_than_it_needs() -> None:
    manifests = rendered(DEPLOY / "kubernetes") + rendered(DEPLOY / "kubernetes" / "monitor")
    pods = [entry["spec"]["template"]["spec"] for entry in manifests if "template" in entry.get("spec", {})]
    assert len(pods) == len(ENVIRONMENTS) + 2
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            limits = container["securityContext"]
            assert limits["readOnlyRootFilesystem"] and not limits["allowPrivilegeEscalation"]
            assert limits["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


def test_haproxy_takes_the_gateways_configuration(tmp_path: Path) -> None:
    script = DEPLOY / "haproxy" / "gateway"
    if shutil.which("haproxy") is None:
        pytest.skip("no haproxy here")
    settings = {"GATEWAY_CONFIG": str(script.with_name("gateway.cfg")), "GATEWAY_RUN": str(tmp_path)}
    run(str(script), "check", **settings)
    written = run(
        str(script), "print", **settings, GATEWAY_BEFORE="x-", GATEWAY_AFTER=".y", GATEWAY_SLOTS="3"
    )
    for name, port in ENVIRONMENTS.items():
        places = re.findall(rf"server {name}-(\d) x-{name}-\1\.y:{port} id (\d)", written)
        assert places == [("0", "1"), ("1", "2"), ("2", "3")]


def test_prometheus_takes_its_configuration_and_the_alerts_fire_as_they_should(tmp_path: Path) -> None:
    run("promtool", "check", "config", "--syntax-only", str(DEPLOY / "prometheus" / "prometheus.yml"))
    # Debian's promtool is built without the discovery of Kubernetes: the rest of that configuration is held against it.
    config = yaml.safe_load((DEPLOY / "kubernetes" / "monitor" / "prometheus.yml").read_text())
    for job in config["scrape_configs"]:
        (discovery,) = job.pop("kubernetes_sd_configs")
        assert discovery["role"] == "pod" and discovery["namespaces"] == {"own_namespace": True}
    rest = tmp_path / "prometheus.yml"
    rest.write_text(yaml.safe_dump(config))
    run("promtool", "check", "config", "--syntax-only", str(rest))
    run("promtool", "test", "rules", str(DEPLOY / "prometheus" / "alerts.test.yml"))


def test_the_board_and_the_alerts_ask_for_what_services_tell(tmp_path: Path) -> None:
    """Every query parses, and every metric of a service in it is on a real service's page or counts what has not happened."""
    board = json.loads((DEPLOY / "grafana" / "boards" / "turngym.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    rules = [
        {"record": f"board:{n}", "expr": query.replace("$environment", ".*")}
        for n, query in enumerate(queries)
    ]
    asked = tmp_path / "board.yml"
    asked.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    run("promtool", "check", "rules", str(asked))
    alerts = (DEPLOY / "prometheus" / "alerts.yml").read_text()
    wanted = set(
        re.findall(
            r"\bturngym_[a-z_]+", " ".join(queries) + re.sub(r"(?m)^\s+(action|summary):.*", "", alerts)
        )
    )
    started: list[Any] = []
    serve: ServerFactory = factory(tmp_path, started)
    try:
        page = httpx.get(f"{serve().url}/metrics").text
    finally:
        end(started)
    told = set(re.findall(r"(?m)^# TYPE (turngym_[a-z_]+)", page))
    series = told | {f"{name}{suffix}" for name in told for suffix in ("_bucket", "_count", "_sum")}
    assert len(wanted) > 10
    assert wanted <= series, wanted - series


def test_every_panel_and_the_data_source_name_the_same_prometheus() -> None:
    board = json.loads((DEPLOY / "grafana" / "boards" / "turngym.json").read_text())
    provisioned = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())
    (source,) = provisioned["datasources"]
    shown = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert {panel["datasource"]["uid"] for panel in shown} == {source["uid"]}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
