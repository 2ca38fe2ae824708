"""The Helm chart under the real helm, and every manifest of it under kubeconform with strict schemas."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import tidelog
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.load import load
from tidelog.cli.cores.plan import plan_cores
from tools.kube_tools import find_tool
from tools.manifests import CHART, DIRECTORY, ROOT, VALUES, manifest, template, values_file

SCHEMAS = Path(__file__).parent / "schemas"
SETS = sorted(path.name.removesuffix("-values.yaml") for path in (ROOT / CHART / "ci").glob("*.yaml"))
Manifests = dict[tuple[str, str], dict[str, Any]]


def tool(name: str) -> str:
    found = find_tool(name, ROOT)
    if found is None:
        pytest.skip(f"{name} is missing; with Go installed: make kube-tools")
    return found


def rendered(*arguments: str) -> str:
    done = template(tool("helm"), arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifests(*arguments: str) -> Manifests:
    """By kind and name."""
    found = [item for item in yaml.safe_load_all(rendered(*arguments)) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in found}


def broker_of(found: Manifests) -> dict[str, Any]:
    [container] = found["StatefulSet", "tidelog"]["spec"]["template"]["spec"]["containers"]
    return container


def check(text: str) -> "subprocess.CompletedProcess[str]":
    location = f"{SCHEMAS}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    return subprocess.run(
        [tool("kubeconform"), "-strict", "-summary", "-schema-location", location],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lint() -> None:
    for values in (None, *SETS):
        chosen = [] if values is None else ["--values", str(values_file(values))]
        command = [tool("helm"), "lint", "--strict", str(CHART), "--kube-version", "1.36.0", *chosen]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("values", [None, *SETS])
def test_every_manifest_is_valid(values: str | None) -> None:
    text = rendered(*([] if values is None else ["--values", str(values_file(values))]))
    done = check(text)
    assert done.returncode == 0, done.stdout
    kinds = sum(1 for item in yaml.safe_load_all(text) if item)
    assert f"Valid: {kinds}, Invalid: 0, Errors: 0, Skipped: 0" in done.stdout


def test_the_schemas_see_a_misspelt_field() -> None:
    done = check(rendered().replace("terminationGracePeriodSeconds", "terminationGraceSeconds"))
    assert done.returncode == 1
    assert "terminationGraceSeconds" in done.stdout


@pytest.mark.parametrize("file", VALUES)
def test_plain_manifests_are_those_of_the_chart(file: str) -> None:
    made = manifest(tool("helm"), file)
    assert (ROOT / DIRECTORY / file).read_text() == made, "outdated: run make manifests"


def test_the_chart_has_the_version_of_the_broker() -> None:
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == tidelog.__version__


REFUSED = [
    (["replicas=2"], "every voter is a broker"),
    (["quorum.voters=2"], "voters"),
    (["replica=5"], "replica"),
    (["listeners.clients.protocol=TLS"], "protocol"),
    (["listeners.clients.protocol=SSL"], "tls.secretName"),
    (["listeners.brokers.protocol=SASL_SSL", "tls.secretName=x"], "protocol"),
    (["stopping.waitSeconds=300"], "terminationGracePeriodSeconds must be 45 s longer"),
    (["settings.node\\.id=7"], "The chart decides node.id"),
    (["external.enabled=true", "external.nodePort=32001"], "must end with 0"),
    (["external.enabled=true", "replicas=11"], "at most ten brokers"),
    (["external.enabled=true", "external.type=LoadBalancer"], "needs external.domain"),
    (["resources.limits=null"], "limits"),
    (["cores=3", "external.enabled=true", "external.nodePort=32000"], "each needs 3 ports in a row"),
    (["cores=2", "external.enabled=true"], "must end with 00"),
    (["cores=2", "stopping.waitSeconds=250"], "must be 60 s longer"),
    (["settings.broker\\.cores=4"], "The chart decides broker.cores"),
]


@pytest.mark.parametrize(("values", "reason"), REFUSED, ids=[" ".join(values) for values, _ in REFUSED])
def test_wrong_values_are_refused_with_the_reason(values: list[str], reason: str) -> None:
    chosen = [argument for value in values for argument in ("--set", value)]
    done = template(tool("helm"), chosen)
    assert done.returncode != 0
    assert reason in done.stderr


@pytest.mark.parametrize("values", [None, *SETS])
def test_the_broker_takes_its_settings(values: str | None, tmp_path: Path) -> None:
    """The file of the ConfigMap and the variables of the pod, as Kubernetes would resolve them."""
    found = manifests(*([] if values is None else ["--values", str(values_file(values))]))
    text = found["ConfigMap", "tidelog"]["data"]["broker.yaml"]
    (tmp_path / "secret").write_text("-----")
    for secret in ("/etc/tidelog-tls/tls.key", "/etc/tidelog-tls/tls.crt"):
        text = text.replace(f"file:{secret}", f"file:{tmp_path}/secret")
    (tmp_path / "broker.yaml").write_text(text)
    environment = dict(environment_of(broker_of(found), index=2, zone="zone-b"))
    environment.pop("TIDELOG_BROKER_RACK_FILE", None)
    config = load(tmp_path / "broker.yaml", env=environment)
    assert config.int("node.id") == 2
    assert config.int("schema.registry.port") == (8081 if values in {"monitored", "cores"} else 0)
    assert config.text("broker.cores") == ("4" if values == "cores" else "1")
    voters = config.list("controller.quorum.voters")
    assert len(voters) == (1 if values == "single" else 3)
    assert voters[0] == "0@tidelog-0.tidelog-brokers.tidelog.svc.cluster.local:9192"
    assert "tidelog-2.tidelog-brokers.tidelog.svc.cluster.local:9192" in str(
        config.list("advertised.listeners")
    )
    outside = [text for text in config.list("advertised.listeners") if text.startswith("EXTERNAL")]
    assert outside == {
        "external": ["EXTERNAL://tidelog-2.kafka.example.com:9094"],
        "node-ports": ["EXTERNAL://10.0.0.9:32092"],
        "cores": ["EXTERNAL://10.0.0.9:32020"],
    }.get(values or "", [])
    assert found_ports(found) == wanted_ports(config)
    assert config["broker.rack"] == (
        None if values in {"single", "external", "node-ports", "cores"} else "zone-b"
    )


def found_ports(found: Manifests) -> set[int]:
    """Those of the container, which every service and policy can name."""
    ports = {port["name"]: port["containerPort"] for port in broker_of(found)["ports"]}
    for kind, item in ((kind, item) for (kind, _), item in found.items()):
        if kind == "Service":
            for port in item["spec"]["ports"]:
                assert port["port"] == ports[port["targetPort"]]
        elif kind == "NetworkPolicy":
            named = [port["port"] for rule in item["spec"]["ingress"] for port in rule["ports"]]
            assert sorted(named) == sorted(ports)
        elif kind == "ServiceMonitor":
            scraped = [endpoint["port"] for endpoint in item["spec"]["endpoints"]]
            assert scraped == [name for name in ports if name.startswith("metrics")]
    return set(ports.values())


def wanted_ports(config: BrokerConfig) -> set[int]:
    """All that the cores of a pod listen at."""
    cores = int(config.text("broker.cores"))
    plan = plan_cores(config, None, {}, cores, 1)
    own = {listener.port for core in range(cores) for listener in plan.listeners_of(core).values()}
    http = {port for member in plan.members for port in (member.metrics_port, member.registry_port)}
    return own | http - {0}


def test_the_ports_of_a_pod_outside_are_those_that_its_cores_advertise() -> None:
    found = manifests("--values", str(values_file("cores")))
    ports = [port["nodePort"] for port in found["Service", "tidelog-2-external"]["spec"]["ports"]]
    assert ports == [32020, 32021, 32022, 32023]


def environment_of(container: dict[str, Any], *, index: int, zone: str) -> Iterator[tuple[str, str]]:
    of_pod = {
        "metadata.name": f"tidelog-{index}",
        "metadata.labels['apps.kubernetes.io/pod-index']": str(index),
        "metadata.labels['topology.kubernetes.io/zone']": zone,
        "status.hostIP": "10.0.0.9",
    }
    known: dict[str, str] = {}
    for variable in container["env"]:
        if "valueFrom" in variable:
            value = of_pod[variable["valueFrom"]["fieldRef"]["fieldPath"]]
        else:
            value = variable["value"]
            for name, text in known.items():
                value = value.replace(f"$({name})", text)
        known[variable["name"]] = value
        yield variable["name"], value


def test_the_pre_stop_hook_waits_for_the_cluster() -> None:
    container = broker_of(manifests())
    command = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command == ["tidelog", "cluster", "can-stop", "--wait", "240", "--tolerate-unavoidable"]
    secured = broker_of(manifests("--values", str(values_file("secured"))))
    command = secured["lifecycle"]["preStop"]["exec"]["command"]
    several = broker_of(manifests("--set", "cores=2"))
    assert several["lifecycle"] == container["lifecycle"], "the command itself looks at the whole machine"
    assert [option for option in command if "=" in option] == [
        "security.protocol=SSL",
        "ssl.ca.location=/etc/tidelog-tls/ca.crt",
        "ssl.certificate.location=/etc/tidelog-tls/tls-combined.pem",
        "ssl.key.location=/etc/tidelog-tls/tls-combined.pem",
    ]


def test_more_brokers_restart_none_and_other_settings_restart_all() -> None:
    def pod(*values: str) -> Any:
        found = manifests(*(argument for value in values for argument in ("--set", value)))
        return found["StatefulSet", "tidelog"]["spec"]["template"]

    assert pod("replicas=5") == pod()
    assert pod("settings.log\\.retention\\.ms=1d") != pod()


def test_what_keeps_brokers_safe() -> None:
    found = manifests()
    spec = found["StatefulSet", "tidelog"]["spec"]
    # A new cluster needs all of its voters: brokers that come one after the other would never be ready.
    assert spec["podManagementPolicy"] == "Parallel"
    assert found["Service", "tidelog-brokers"]["spec"]["publishNotReadyAddresses"] is True
    assert found["PodDisruptionBudget", "tidelog"]["spec"]["maxUnavailable"] == 1
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    container = broker_of(found)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    assert probes == {
        "startup": {"path": "/healthz", "port": "metrics"},
        "readiness": {"path": "/readyz", "port": "metrics"},
        "liveness": {"path": "/healthz", "port": "metrics"},
    }


def test_a_pod_of_several_cores_is_ready_when_all_are_and_asks_for_so_many() -> None:
    container = broker_of(manifests("--set", "cores=4"))
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz/machine", "port": "metrics"}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert container["resources"]["requests"]["cpu"] == "4"
    given = broker_of(manifests("--set", "cores=4", "--set", "resources.requests.cpu=500m"))
    assert given["resources"]["requests"]["cpu"] == "500m"


def test_the_alerts_are_those_of_prometheus() -> None:
    rule = manifests("--values", str(values_file("monitored")))["PrometheusRule", "tidelog"]
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/tidelog-alerts.yml").read_text())


def test_a_release_has_a_job_of_its_own_among_all_namespaces() -> None:
    """Alerts and dashboards sum by job: a release of the same name elsewhere is another cluster."""
    monitor = manifests("--values", str(values_file("monitored")))["ServiceMonitor", "tidelog"]
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "tidelog/tidelog"}]
