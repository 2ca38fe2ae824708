"""Every setting has a variable, and a variable for a file; what else bears the prefix is refused or known."""

from pathlib import Path

import pytest

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.config import ConfigError, load
from tidelog.base.config.environment import FILE_SUFFIX, NOT_SETTINGS, env_name, read_environment
from tidelog.base.config.error import Problem
from tidelog.base.config.file import Given
from tidelog.base.config.setting import Scope, Setting, render
from tidelog.base.listener_settings import find_broker_setting, name_for
from tidelog.base.security_protocol import SASL_MECHANISMS


def names_of(setting: Setting) -> list[str]:
    """The plain name, and those of a listener and of its mechanisms where the setting has them."""
    names = [setting.name]
    if setting.scope is not Scope.BROKER:
        names.append(name_for(setting.name, "CLIENTS"))
    if setting.scope is Scope.MECHANISM:
        names += [name_for(setting.name, "CLIENTS", mechanism) for mechanism in SASL_MECHANISMS]
    return names


@pytest.mark.parametrize("setting", BROKER_SETTINGS.values(), ids=lambda setting: setting.name)
def test_every_setting_has_a_variable_and_one_for_a_file(setting: Setting) -> None:
    for name in names_of(setting):
        variable, problems = env_name(name), list[Problem]()
        assert find_broker_setting(name) is not None
        assert list(read_environment({variable: "text"}, problems)) == [
            Given(name, "text", f"environment {variable}")
        ]
        of_file = variable + FILE_SUFFIX
        assert list(read_environment({of_file: "/run/secrets/x"}, problems)) == [
            Given(name, "${file:/run/secrets/x}", f"environment {of_file}")
        ]
        assert problems == []


def test_no_variable_has_two_meanings() -> None:
    variables = {env_name(name) for name in BROKER_SETTINGS}
    assert not {variable + FILE_SUFFIX for variable in variables} & variables
    assert not variables & NOT_SETTINGS


def test_a_broker_takes_all_of_its_settings_from_the_environment() -> None:
    given = {name: render(setting, setting.default) for name, setting in BROKER_SETTINGS.items()}
    config = load(env={env_name(name): text for name, text in given.items() if text})
    assert all(config.is_given(name) for name, text in given.items() if text)
    assert config == {**load(), "log.roll.ms": config["log.roll.ms"]}
    assert config.origin("node.id") == "environment TIDELOG_NODE_ID"


def test_a_secret_from_a_file_loses_its_line_end_and_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    env = {"TIDELOG_SSL_KEY_PASSWORD_FILE": str(tmp_path / "password")}
    assert load(env=env).optional_text("ssl.key.password") == "hunter2"
    with pytest.raises(ConfigError) as refusal:
        load(env={"TIDELOG_NUM_PARTITIONS_FILE": str(tmp_path / "password")})
    assert "hunter2" not in str(refusal.value)
    assert str(tmp_path / "password") in str(refusal.value)


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        (
            {"TIDELOG_NODE_ID_FILE": "/none"},
            "environment TIDELOG_NODE_ID_FILE: node.id: cannot read /none: No such file or directory",
        ),
        (
            {"TIDELOG_NODE_ID_FILE": "/none", "TIDELOG_NODE_ID": "1"},
            "environment TIDELOG_NODE_ID_FILE: node.id: TIDELOG_NODE_ID gives it too; remove one of the two",
        ),
        (
            {"TIDELOG_NODE_ID_FILE": "/a}b"},
            "environment TIDELOG_NODE_ID_FILE: node.id: the path of the file must not contain '}'",
        ),
        (
            {"TIDELOG_NODEID_FILE": "/none"},
            "environment: TIDELOG_NODEID_FILE: no such setting; did you mean TIDELOG_NODE_ID",
        ),
        ({"TIDELOG_PORT": "9092"}, "environment: TIDELOG_PORT: no such setting"),
    ],
)
def test_refusals_name_the_variable(env: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(env=env)
    [found] = refusal.value.problems
    assert str(found).startswith(problem)


@pytest.mark.parametrize("service", ["TIDELOG", "TIDELOG_BOOTSTRAP", "TIDELOG_METRICS"])
def test_what_kubernetes_says_of_a_service_is_no_setting(service: str) -> None:
    env = {
        f"{service}_SERVICE_HOST": "10.0.0.1",
        f"{service}_SERVICE_PORT": "9092",
        f"{service}_SERVICE_PORT_CLIENTS": "9092",
        f"{service}_PORT": "tcp://10.0.0.1:9092",
        f"{service}_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        f"{service}_PORT_9092_TCP_PROTO": "tcp",
        f"{service}_PORT_9092_TCP_PORT": "9092",
        f"{service}_PORT_9092_TCP_ADDR": "10.0.0.1",
    }
    assert load(env=env) == load()
