"""Secrets on their way to Spark: variables in options, values in the environment."""

import pytest

from tidelog.spark.connection_options import CONNECTION
from tidelog.spark.errors import OptionError
from tidelog.spark.options import Option, OptionTable
from tidelog.spark.secrets import by_reference, by_value
from tidelog.spark.source.options import read_source_options

LOGIN = {
    "kafka.sasl.username": "ann",
    "kafka.sasl.password": "hunter2",
    "kafka.ssl.key.password": "${env:KEY}",
}


def test_values_move_to_the_environment_and_variables_stay() -> None:
    environment: dict[str, str] = {}
    made = by_reference(LOGIN, environment)
    assert made == {
        "kafka.sasl.username": "ann",
        "kafka.sasl.password": "${env:_TIDELOG_SECRET_1}",
        "kafka.ssl.key.password": "${env:KEY}",
    }
    assert environment == {"_TIDELOG_SECRET_1": "hunter2"}
    assert by_reference({"sasl.password": "other"}, environment) == {
        "sasl.password": "${env:_TIDELOG_SECRET_2}"
    }
    assert by_reference({"sasl.password": "hunter2"}, environment)["sasl.password"].endswith("_1}")


def test_another_machine_gets_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "of the key")
    assert by_value(LOGIN)["kafka.ssl.key.password"] == "of the key"


def test_the_data_source_resolves_secrets_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "hunter2")
    given = {
        "kafka.bootstrap.servers": "a:1",
        "subscribe": "t",
        "security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "sasl.username": "${env:PASSWORD}",
        "sasl.password": "${env:PASSWORD}",
    }
    options = read_source_options(given, is_stream=False)
    assert options.cluster.security is not None
    assert options.cluster.security.sasl is not None
    assert options.cluster.security.sasl.username == "${env:PASSWORD}", "no secret: it stays what it is"
    assert options.cluster.security.sasl.password == "hunter2"
    assert "hunter2" not in repr(options)
    with pytest.raises(OptionError, match=r"kafka\.sasl\.password: the environment variable NONE is not set"):
        read_source_options(given | {"sasl.password": "${env:NONE}"}, is_stream=False)


def test_names_work_with_and_without_their_prefix() -> None:
    table = OptionTable.of(CONNECTION, [Option("topic", "of ours")])
    assert table.read({"security.protocol": "ssl", "TOPIC": "t"})["kafka.security.protocol"] == "SSL"
    assert table.read({"client.id": "a", "kafka.client.id": "a"})["kafka.client.id"] == "a"
    with pytest.raises(
        OptionError, match=r"kafka\.client\.id is given with and without kafka\., and differs"
    ):
        table.read({"client.id": "a", "kafka.client.id": "b"})
