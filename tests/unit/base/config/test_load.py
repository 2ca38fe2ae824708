import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.base.config.config import ConfigError, ConfigSource, load


def refused(**given: object) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(**given)  # type: ignore[arg-type]
    return [str(problem) for problem in error.value.problems]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "broker.yaml"


def test_flat_and_nested_names_and_human_values(file: Path) -> None:
    file.write_text(
        """
node.id: 4
log:
  dirs: [a, b]
  retention.ms: 7d
  segment:
    bytes: 64 MiB
auto.create.topics.enable: off
durability: os
"""
    )
    config = load(file)
    assert config.int("node.id") == 4
    assert config.list("log.dirs") == ("a", "b")
    assert config.int("log.retention.ms") == 604_800_000
    assert config.int("log.segment.bytes") == 64 * 1024**2
    assert config.bool("auto.create.topics.enable") is False
    assert config.text("durability") == "os"
    assert config.source("node.id") is ConfigSource.STATIC_BROKER_CONFIG
    assert config.source("num.partitions") is ConfigSource.DEFAULT_CONFIG
    assert config.origin("log.segment.bytes") == f"{file}:7"


def test_an_empty_file_leaves_the_defaults(file: Path) -> None:
    file.write_text("# nothing\n")
    assert load(file).int("node.id") == 1


def test_flags_beat_the_environment_beats_the_file(file: Path) -> None:
    file.write_text("node.id: 1\nnum.partitions: 1\nmax.connections: 1\n")
    env = {"TIDELOG_NUM_PARTITIONS": "2", "TIDELOG_MAX_CONNECTIONS": "2", "HOME": "/"}
    config = load(file, env, {"max.connections": "3"})
    assert [config.int(name) for name in ("node.id", "num.partitions", "max.connections")] == [1, 2, 3]


def test_every_mistake_is_shown_at_once_with_its_place(file: Path) -> None:
    file.write_text("node.idd: 1\nnum.partitions: many\nretention.ms: 1\n")
    problems = refused(file=file, env={"TIDELOG_NODEID": "1"}, flags={"log.dir": "x"})
    assert problems == [
        "environment: TIDELOG_NODEID: no such setting; did you mean TIDELOG_NODE_ID?",
        f"{file}:1: node.idd: no such setting; did you mean node.id?",
        f"{file}:2: num.partitions: 'many' is not a whole number",
        f"{file}:3: retention.ms: no such setting; use log.retention.ms",
        "--set: log.dir: no such setting; use log.dirs",
    ]


def test_a_bad_value_is_refused_though_a_flag_overrides_it(file: Path) -> None:
    file.write_text("num.partitions: 0\n")
    assert refused(file=file, flags={"num.partitions": "3"}) == [
        f"{file}:1: num.partitions: 0 is below 1, the least allowed"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node.id: 1\nnode.id: 2\n", ":2: node.id: is given twice, first in line 1"),
        ("log: {dirs: a}\nlog.dirs: b\n", ":2: log.dirs: is given twice, first in line 1"),
        ("node.id:\n", ":1: node.id: has no value; remove the line to keep the default"),
        ("- node.id\n", ": settings file: must hold lines of the form name: value"),
        ("node.id: [\n", "settings file: is not YAML"),
        ("log.dirs: [{a: b}]\n", ":1: log.dirs: expected a list of strings"),
        ("node.id: [1]\n", ":1: node.id: expected one value, not a list"),
        ("node:\n  id:\n    x: 1\n", ":3: node.id.x: no such setting"),
    ],
)
def test_what_is_wrong_with_a_file(file: Path, text: str, problem: str) -> None:
    file.write_text(text)
    (found,) = refused(file=file)
    assert problem in found
    assert found.startswith(str(file))


def test_a_file_that_is_missing_or_no_text(file: Path) -> None:
    assert refused(file=file) == [f"{file}: settings file: cannot be read: No such file or directory"]
    file.write_bytes(b"node.id: \xff\n")
    assert "is not UTF-8 text" in refused(file=file)[0]


def test_variables_of_kubernetes_and_of_the_command_line_are_no_settings() -> None:
    env = {
        "TIDELOG_PORT": "tcp://10.0.0.1:9092",
        "TIDELOG_PORT_9092_TCP_ADDR": "10.0.0.1",
        "TIDELOG_SERVICE_HOST": "10.0.0.1",
        "TIDELOG_BOOTSTRAP_SERVERS": "localhost:9092",
        "TIDELOG_PIPELINES": "/var/lib/pipelines",
    }
    assert load(env=env).int("node.id") == 1


def test_a_topic_name_in_the_environment_leads_to_the_brokers_variable() -> None:
    assert refused(env={"TIDELOG_RETENTION_MS": "1"}) == [
        "environment: TIDELOG_RETENTION_MS: no such setting; use TIDELOG_LOG_RETENTION_MS"
    ]


def test_a_rule_between_settings_names_the_place_of_the_value(file: Path) -> None:
    file.write_text("num.partitions: 1\nlisteners: [PLAINTEXT://0.0.0.0:9092]\n")
    (found,) = refused(file=file)
    assert found.startswith(f"{file}:2: listeners: PLAINTEXT://0.0.0.0:9092 listens on every interface")


def test_configuration_without_a_file_loads_neither_yaml_nor_difflib() -> None:
    script = (
        "import sys; from tidelog.base.config.config import load; load();"
        "print(sorted({'yaml', 'difflib', 'dataclasses', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_variables_in_file_environment_and_flags(file: Path) -> None:
    (file.parent / "id").write_text("4\n")
    file.write_text("node.id: ${file:id}\nlog.dirs: ['${env:DISK}/a', '${env:DISK}/b']\n")
    env = {"DISK": "/data", "COUNT": "7", "TIDELOG_NUM_PARTITIONS": "${env:COUNT}"}
    config = load(file, env, {"max.connections": "${env:COUNT}"})
    assert config.int("node.id") == 4
    assert config.list("log.dirs") == ("/data/a", "/data/b")
    assert config.int("num.partitions") == config.int("max.connections") == 7


def test_problems_name_the_variable_and_the_line_but_not_the_value(file: Path) -> None:
    file.write_text("node.id: ${env:ID}\nnum.partitions: ${env:SECRET}\nlisteners: ['${env:SECRET}']\n")
    problems = refused(file=file, env={"SECRET": "hunter2"})
    assert problems[0] == (
        f"{file}:1: node.id: the environment variable ID is not set; set it, "
        "or give it a default: ${env:ID:-VALUE}"
    )
    assert f"{file}:2: num.partitions: '${{env:SECRET}}' is not a whole number" in problems
    assert "hunter2" not in " ".join(problems)
