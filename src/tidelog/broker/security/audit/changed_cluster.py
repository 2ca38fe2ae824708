"""Changes of settings, features, brokers and voters."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.client_metrics_settings import CLIENT_METRICS_SETTINGS
from tidelog.base.config.setting import Setting
from tidelog.base.errors import ErrorCode
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.broker.security.audit.change import AuditedChange, shown

_CONFIG_TYPES = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP"}
_TABLES = {"TOPIC": TOPIC_SETTINGS, "GROUP": GROUP_SETTINGS, "CLIENT_METRICS": CLIENT_METRICS_SETTINGS}
_CONFIG_OPERATIONS = ("SET", "DELETE", "APPEND", "SUBTRACT")


def alter_configs(request: Any, response: Any) -> Iterator[AuditedChange]:
    codes = {(each.resource_type, each.resource_name): each.error_code for each in response.responses}
    for resource in request.resources:
        kind = _CONFIG_TYPES.get(resource.resource_type, str(resource.resource_type))
        table = _TABLES.get(kind, BROKER_SETTINGS)
        details = tuple((each.name, _config_text(table, each)) for each in resource.configs)
        key = (resource.resource_type, resource.resource_name)
        yield AuditedChange(kind, resource.resource_name, codes.get(key, ErrorCode.NONE), details)


def _config_text(table: Mapping[str, Setting], config: Any) -> str:
    operation = getattr(config, "config_operation", 0)
    text = "" if config.value is None else shown(table, config.name, config.value)
    if operation == 0:
        return text
    known = operation < len(_CONFIG_OPERATIONS)
    return f"{_CONFIG_OPERATIONS[operation] if known else operation} {text}".rstrip()


def update_features(request: Any, response: Any) -> Iterator[AuditedChange]:
    codes = {result.feature: result.error_code for result in response.results}
    for update in request.feature_updates:
        code = response.error_code or codes.get(update.feature, ErrorCode.NONE)
        yield AuditedChange("FEATURE", update.feature, code, (("level", str(update.max_version_level)),))


def broker(request: Any, response: Any) -> Iterator[AuditedChange]:
    yield AuditedChange("BROKER", str(request.broker_id), response.error_code)


def voter(request: Any, response: Any) -> Iterator[AuditedChange]:
    yield AuditedChange("VOTER", str(request.voter_id), response.error_code)
