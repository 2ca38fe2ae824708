"""The Dockerfiles and the compose file, by their own linter and schema, and against the settings they use."""

import fnmatch
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.deploy.docker_files import (
    BROKERS,
    COMPOSE,
    DOCKERFILE,
    ROOT,
    SPARK_DOCKERFILE,
    broker_environment,
    compose,
    copied,
    image_command,
    image_environment,
    last_stage,
    only,
)
from tidelog.base.config.config import BrokerConfig, load
from tidelog.cli.cores.plan import plan_cores
from tidelog.cli.up.broker_checks import check_membership
from tidelog.cli.up.ports import FIRST_PORTS, REGISTRY


def config_of(service: str) -> BrokerConfig:
    """`${host:…}` as in a container of that name."""
    ordinal = service.rpartition("-")[2]
    env = {
        name: value.replace("${host:name}", service).replace("${host:ordinal}", ordinal)
        for name, value in broker_environment(service).items()
    }
    return load(env=env)


@pytest.mark.parametrize("path", [DOCKERFILE, SPARK_DOCKERFILE], ids=lambda path: path.name)
def test_hadolint_finds_nothing(path: Path) -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([hadolint, path], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_one_process_without_root() -> None:
    assert image_command() == ["tidelog", "broker"]
    assert only("USER") == "10001:10001"
    assert only("STOPSIGNAL") == "SIGTERM"
    assert "HEALTHCHECK" in [one.name for one in last_stage()]
    assert not any("pip" in one.rest for one in last_stage()), "no tools of the build in the image"
    assert not [one for one in last_stage(SPARK_DOCKERFILE) if one.name in ("USER", "ENTRYPOINT")], (
        "inherited"
    )


def test_the_image_alone_is_a_broker_for_its_host() -> None:
    config = load(env=image_environment())
    assert [str(one) for one in config.advertised_listeners()] == ["PLAINTEXT://localhost:9092"]
    ports = {config.listeners()[0].port, config.int("metrics.port"), FIRST_PORTS[REGISTRY]}
    assert set(map(int, only("EXPOSE").split())) == ports
    assert config.list("log.dirs")[0].startswith(only("VOLUME"))


def test_all_that_is_copied_reaches_the_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    let_through = [line[1:] for line in ignored if line.startswith("!")]
    for source in (source for sources, _ in copied() for source in sources):
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source, pattern) for pattern in let_through), source


def test_the_compose_file_is_valid_by_the_schema_of_the_specification() -> None:
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    jsonschema.validate(compose(), json.loads(schema.read_text()))


def test_three_brokers_that_find_each_other_and_are_found() -> None:
    configs = [config_of(service) for service in BROKERS]
    assert [config.int("node.id") for config in configs] == [1, 2, 3]
    for service, config in zip(BROKERS, configs, strict=True):
        check_membership(config)
        assert config.inter_broker_listener() == "BROKERS"
        inside = {listener.name: listener.port for listener in config.listeners()}
        outside = {listener.name: listener for listener in config.advertised_listeners()}
        assert outside["BROKERS"].host == service
        assert outside["BROKERS"].port == inside["BROKERS"]
        definition = compose()["services"][service]
        assert definition["hostname"] == service
        registry = config.int("schema.registry.port")
        assert definition["ports"] == [
            f"127.0.0.1:{outside['HOST'].port}:{inside['HOST']}",
            f"127.0.0.1:{registry + config.int('node.id') - 1}:{registry}",
        ]
        assert config.text("schema.registry.host") == "0.0.0.0"
        drain_ms = config.int("controlled.shutdown.timeout.ms") + config.int("shutdown.grace.ms")
        assert int(definition["stop_grace_period"].removesuffix("s")) * 1000 >= 2 * drain_ms
    assert len({config.list("controller.quorum.voters") for config in configs}) == 1


def test_mounts_exist_volumes_are_named_and_images_have_a_version() -> None:
    parsed = compose()
    for service in parsed["services"].values():
        name, _, version = service["image"].partition(":")
        assert version not in ("", "latest"), f"{name} may be anything tomorrow"
        assert service["restart"] == "unless-stopped"
        for mount in service["volumes"]:
            source = mount.partition(":")[0]
            if source.startswith("."):
                assert (COMPOSE.parent / source).is_dir(), source
            else:
                assert source in parsed["volumes"]


def test_prometheus_asks_the_brokers_of_the_compose_file() -> None:
    scrapes = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())[
        "scrape_configs"
    ]
    targets = {target for job in scrapes for one in job["static_configs"] for target in one["targets"]}
    assert targets == {f"{service}:{config_of(service).int('metrics.port')}" for service in BROKERS}
    assert all(config_of(service).text("metrics.host") == "0.0.0.0" for service in BROKERS)


def test_the_page_on_containers_shows_settings_that_a_broker_takes() -> None:
    page = (ROOT / "docs" / "containers.md").read_text()
    [block] = re.findall(r"```sh\n(TIDELOG_NODE_ID.*?)```", page, re.DOTALL)
    env = dict(line.split("=", 1) for line in block.replace("'", "").splitlines())
    env = {
        name: v.replace("${host:ordinal}", "2").replace("${host:name}", "tidelog-2")
        for name, v in env.items()
    }
    check_membership(load(env=env))


def test_the_page_on_containers_maps_the_ports_of_every_core() -> None:
    page = (ROOT / "docs" / "containers.md").read_text()
    [block] = re.findall(r"```yaml\n(services:.*?)```", page, re.DOTALL)
    shown = yaml.safe_load(block)
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    jsonschema.validate(shown, json.loads(schema.read_text()))
    service = shown["services"]["broker"]
    config = load(env=image_environment() | {name: str(v) for name, v in service["environment"].items()})
    cores = int(config.text("broker.cores"))
    plan = plan_cores(config, None, {}, cores, 1)
    assert [member.id for member in plan.members] == [1, 1001, 2001, 3001]
    first = [config.listeners()[0].port, FIRST_PORTS[REGISTRY], config.int("metrics.port")]
    rows = [f"{port}-{port + cores - 1}" for port in first]
    assert service["ports"] == [f"127.0.0.1:{row}:{row}" for row in rows]
