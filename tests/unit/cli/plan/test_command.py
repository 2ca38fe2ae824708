"""`tidelog plan` on the command line."""

import json

import pytest

from tidelog.cli.main import run


def test_a_plan_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--rate", "1000", "--size", "1KB", "--retention", "1d"]) == 0
    out = capsys.readouterr().out
    assert "3 brokers, 3 partitions with 3 replicas each" in out
    assert "producers send        1.0 MB/s, 2.0 MB/s at the peak" in out
    assert "log.retention.ms=86400000" in out


def test_a_plan_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--rate", "1000", "--size", "1000", "--disk", "10GB", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["limit"] == "disk"
    assert found["brokers"] > 3
    assert found["replicas_per_broker"] == found["partitions"] * 3 / found["brokers"]


def test_machines_with_several_cores(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", "--rate", "2000000", "--size", "1KB", "--cores", "16", "--partitions", "10"]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "machines of 16 cores (" in out
    assert "network of a machine" in out
    assert "broker.cores=16" in out
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["brokers"] == found["machines"] * 16
    assert found["notes"][0] in out.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "0", "--size", "1KB"], "--rate"),
        (["--rate", "10", "--size", "tiny"], "expected a size"),
        (["--rate", "10", "--size", "0"], "more than 0"),
        (["--rate", "10", "--size", "1KB", "--retention", "9999999999d"], "thousand years"),
        (["--rate", "nan", "--size", "1KB"], "--rate"),
        (["--rate", "10", "--size", "1KB", "--peak", "inf"], "--peak"),
        (["--rate", "10", "--size", "1KB", "--cores", "0"], "--cores"),
        (["--size", "1KB"], "--rate"),
    ],
)
def test_nonsense_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *arguments]) == 2
    assert said in capsys.readouterr().err
