"""`tidelog client-metrics`: what is sent, and what is shown."""

import json
from typing import Any

import pytest

from tidelog.cli.client_metrics import commands
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.wire.messages import describe_configs, incremental_alter_configs, list_config_resources

SETTINGS = {"metrics": "a.,b.", "interval.ms": "30000", "match": "client_id=x.*"}


class Cluster:
    """There is one subscription. Changes are written down, and answered with `code`."""

    def __init__(self) -> None:
        self.code = 0
        self.changed: list[tuple[str, dict[str, str | None]]] = []

    def __call__(self, _session: object) -> "Cluster":
        return self

    def ask(self, request: Any, **_options: Any) -> Any:
        if isinstance(request, list_config_resources.ListConfigResourcesRequest):
            found = [list_config_resources.ConfigResource(resource_name="latencies", resource_type=16)]
            return list_config_resources.ListConfigResourcesResponse(config_resources=found)
        if isinstance(request, describe_configs.DescribeConfigsRequest):
            configs = [
                describe_configs.DescribeConfigsResourceResult(name=key, value=text)
                for key, text in SETTINGS.items()
            ]
            result = describe_configs.DescribeConfigsResult(
                resource_type=16, resource_name="latencies", configs=configs
            )
            return describe_configs.DescribeConfigsResponse(results=[result])
        [resource] = request.resources
        self.changed.append((resource.resource_name, {one.name: one.value for one in resource.configs}))
        answer = incremental_alter_configs.AlterConfigsResourceResponse(
            error_code=self.code, error_message="No.", resource_type=16, resource_name=resource.resource_name
        )
        return incremental_alter_configs.IncrementalAlterConfigsResponse(responses=[answer])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(commands, "DirectCluster", made)
    return made


def test_set(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--metrics", "a.", "--metrics", "b.", "--interval", "30s", "--match", "client_id=x.*"]
    assert run(["client-metrics", "set", "latencies", *arguments]) == Exit.OK
    assert run(["client-metrics", "set", "latencies", "--interval", "5000"]) == Exit.OK
    assert cluster.changed == [("latencies", SETTINGS), ("latencies", {"interval.ms": "5000"})]
    assert "latencies: metrics a.,b., interval.ms 30000" in capsys.readouterr().out


def test_list_and_describe(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["list"], ["describe", "latencies"]):
        assert run(["client-metrics", *arguments]) == Exit.OK
        assert capsys.readouterr().out.split("\n")[1].split() == [
            "latencies",
            "30s",
            "client_id=x.*",
            "a.,b.",
        ]
    assert run(["client-metrics", "describe", "latencies", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {
        "name": "latencies",
        "metrics": ["a.", "b."],
        "interval_ms": 30_000,
        "match": ["client_id=x.*"],
    }


def test_delete(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["client-metrics", "delete", "latencies"]) == Exit.OK
    assert cluster.changed == [("latencies", dict.fromkeys(SETTINGS))]
    for command in ("delete", "describe"):
        assert run(["client-metrics", command, "other"]) == Exit.NOT_FOUND
        assert "tidelog client-metrics list" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["set"], ["set", "s"], ["set", "s", "--interval", "soon"]], ids=" ".join
)
def test_wrong_calls(arguments: list[str], cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["client-metrics", *arguments]) == Exit.USAGE
    assert cluster.changed == []


def test_a_refusal_names_the_subscription(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.code = 40
    assert run(["client-metrics", "set", "s", "--metrics", "a"]) == Exit.REFUSED
    assert "Settings of client metrics 's': No." in capsys.readouterr().err
