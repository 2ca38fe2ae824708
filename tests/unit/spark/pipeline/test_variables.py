"""`${env:…}` and `${file:…}`: filled in where they can be, refused with line and reason where not."""

from pathlib import Path

import pytest

from tidelog.spark.pipeline.faults import InvalidPipeline
from tidelog.spark.pipeline.load import read_spec
from tidelog.spark.pipeline.nodes import read_yaml
from tidelog.spark.pipeline.variables import fill

ENVIRONMENT = {"BROKERS": "kafka-1:9092", "EMPTY": "", "SHOW": "true"}
PIPELINE = """\
name: copy
brokers: {brokers}
sources:
  in: {{topic: a, options: {{kafka.sasl.password: "${{file:secret}}"}}}}
sinks:
  - {{from: in, console: "${{SHOW}}"}}
"""


def filled(text: str, directory: Path = Path()) -> object:
    made = fill(read_yaml(f"value: {text}"), directory, ENVIRONMENT)
    assert not made.faults
    return made.tree.plain()["value"]  # type: ignore[index]


def refused(text: str, directory: Path = Path()) -> str:
    [fault] = fill(read_yaml(f"value: {text}"), directory, ENVIRONMENT).faults
    return str(fault)


def test_the_environment() -> None:
    assert filled("${env:BROKERS}") == "kafka-1:9092"
    assert filled("${BROKERS}") == "kafka-1:9092"
    assert filled("a ${env:BROKERS} b ${env:EMPTY} c") == "a kafka-1:9092 b  c"
    assert filled("${env:TOPIC:-orders}") == "orders"
    assert filled("${env:EMPTY:-orders}") == ""


def test_a_file_without_its_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("SELECT 1\nFROM orders\n")
    assert filled("${file:query.sql}", tmp_path) == "SELECT 1\nFROM orders"
    assert filled("${file:" + str(tmp_path / "query.sql") + "}") == "SELECT 1\nFROM orders"


def test_what_is_filled_in_is_not_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("p: ${env:BROKERS}")
    assert filled("${file:secret}", tmp_path) == "p: ${env:BROKERS}"


def test_two_dollars_stand_for_one() -> None:
    assert filled("costs $${env:X} and $5") == "costs ${env:X} and $5"


def test_what_has_no_value_is_refused_with_its_line(tmp_path: Path) -> None:
    assert refused("${BROKER}") == (
        "line 1, value: the environment variable BROKER is not set; set it,"
        " or give it a default: ${env:BROKER:-VALUE}"
    )
    assert f"cannot read {tmp_path / 'none'}: No such file" in refused("${file:none}", tmp_path)
    assert "'${vault:x}' is neither ${env:NAME} nor ${file:PATH}" in refused("${vault:x}")
    assert "is neither" in refused('"${}"')
    (tmp_path / "large").write_bytes(b"x" * (1 << 20) + b"x")
    assert "too many for a value" in refused("${file:large}", tmp_path)


def test_a_pipeline_gets_text_where_it_wants_text_and_flags_where_it_wants_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("12345\n")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    spec, _ = read_spec(PIPELINE.format(brokers="${BROKERS}"), tmp_path)
    assert spec.brokers == "kafka-1:9092"
    assert spec.sources["in"].options == {"kafka.sasl.password": f"${{file:{tmp_path}/secret}}"}
    assert spec.sinks[0].console is True


def test_a_pipeline_is_refused_for_what_is_not_set_and_for_nothing_that_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOW", "true")
    monkeypatch.delenv("BROKERS", raising=False)
    with pytest.raises(InvalidPipeline) as refusal:
        read_spec(PIPELINE.format(brokers="${BROKERS}"), tmp_path)
    assert [fault.line for fault in refusal.value.faults] == [2, 4]
    assert "BROKERS is not set" in str(refusal.value)
    (tmp_path / "secret").touch()
    with pytest.raises(InvalidPipeline, match="line 2, brokers: 'kafka-1' is not host:port"):
        read_spec(PIPELINE.format(brokers="kafka-1"), tmp_path)


def test_a_fault_shows_the_variable_and_not_its_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").touch()
    monkeypatch.setenv("SHOW", "true")
    monkeypatch.setenv("BROKERS", "hunter2")
    with pytest.raises(InvalidPipeline) as refusal:
        read_spec(PIPELINE.format(brokers="${BROKERS}"), tmp_path)
    assert "line 2, brokers: '${BROKERS}' is not host:port" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
