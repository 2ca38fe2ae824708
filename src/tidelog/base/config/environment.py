"""Settings in the environment: `TIDELOG_LOG_RETENTION_MS` is `log.retention.ms`.

`TIDELOG_SSL_KEY_PASSWORD_FILE` names a file that holds the value, as secrets are mounted into containers. A
variable of the prefix that belongs to no setting is a problem, except those that the command line reads and
those that Kubernetes sets beside a service whose name begins with `tidelog`.
"""

import re
from collections.abc import Iterable, Mapping

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.error import Problem, unknown
from tidelog.base.config.file import Given
from tidelog.base.config.setting import Scope
from tidelog.base.listener_settings import name_for
from tidelog.base.security_protocol import SASL_MECHANISMS
from tidelog.base.topic_settings import TOPIC_SETTINGS

ENV_PREFIX = "TIDELOG_"
FILE_SUFFIX = "_FILE"

NOT_SETTINGS = frozenset(
    (
        "TIDELOG_BOOTSTRAP_SERVERS",
        "TIDELOG_CONFIG",
        "TIDELOG_CONTEXT",
        "TIDELOG_PIPELINES",
        "TIDELOG_SCHEMA_REGISTRY",
    )
)
"""Variables that the command line and pipelines read."""

# Kubernetes describes each service to the containers beside it: TIDELOG_PORT_9092_TCP_ADDR=10.0.0.1 and more.
_OF_A_SERVICE = re.compile(
    r"TIDELOG_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)"
)
_ADDRESS_OF_A_SERVICE = re.compile(r"(tcp|udp|sctp)://\S+:[0-9]+")


def env_name(name: str) -> str:
    """The variable of a setting: `log.retention.ms` is `TIDELOG_LOG_RETENTION_MS`."""
    return ENV_PREFIX + name.replace(".", "_").replace("-", "_").upper()


def read_environment(env: Mapping[str, str], problems: list[Problem]) -> Iterable[Given]:
    """The settings that variables give. The value of a file is left to the resolver, as `${file:PATH}`."""
    names = {env_name(name): name for name in BROKER_SETTINGS}
    for variable in sorted(env):
        if not variable.startswith(ENV_PREFIX) or variable in NOT_SETTINGS:
            continue
        if _describes_a_service(variable, env[variable], names):
            continue
        name, where = _setting_in(variable, names), f"environment {variable}"
        of_file = None if name else _setting_in(variable.removesuffix(FILE_SUFFIX), names)
        if name is not None:
            yield Given(name, env[variable], where)
        elif of_file is None:
            topic = TOPIC_SETTINGS.get(variable.removeprefix(ENV_PREFIX).lower().replace("_", "."))
            instead = env_name(topic.broker_synonyms[0]) if topic else None
            problems.append(Problem(variable, unknown(variable, names, instead), "environment"))
        elif (value := variable.removesuffix(FILE_SUFFIX)) in env:
            problems.append(Problem(of_file, f"{value} gives it too; remove one of the two", where))
        elif "}" in env[variable]:
            problems.append(Problem(of_file, "the path of the file must not contain '}'", where))
        else:
            yield Given(of_file, f"${{file:{env[variable]}}}", where)


def _describes_a_service(variable: str, value: str, names: Mapping[str, str]) -> bool:
    if variable.endswith("_PORT") and _ADDRESS_OF_A_SERVICE.fullmatch(value):
        return True  # even TIDELOG_METRICS_PORT, beside a service named tidelog-metrics
    return variable not in names and _OF_A_SERVICE.fullmatch(variable) is not None


def _setting_in(variable: str, names: Mapping[str, str]) -> str | None:
    return names.get(variable) or _listener_setting_in(variable)


def _listener_setting_in(variable: str) -> str | None:
    """`TIDELOG_LISTENER_NAME_CLIENTS_SSL_CLIENT_AUTH`: the longest name of a setting at its end counts."""
    prefix = env_name("listener.name.")
    if not variable.startswith(prefix):
        return None
    rest = variable.removeprefix(prefix)
    scoped = [setting for setting in BROKER_SETTINGS.values() if setting.scope is not Scope.BROKER]
    endings = {env_name(setting.name).removeprefix(ENV_PREFIX): setting for setting in scoped}
    ending = max((text for text in endings if rest.endswith(f"_{text}")), key=len, default=None)
    if ending is None:
        return None
    listener, setting = rest.removesuffix(f"_{ending}"), endings[ending]
    if setting.scope is Scope.MECHANISM:
        for mechanism in SASL_MECHANISMS:
            tail = "_" + mechanism.replace("-", "_")
            if listener.endswith(tail):
                return name_for(setting.name, listener.removesuffix(tail), mechanism)
    return name_for(setting.name, listener)
