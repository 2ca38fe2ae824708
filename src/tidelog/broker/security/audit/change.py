"""One change, as the audit record tells it: the resource, the result, and what was asked for."""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.base.config.setting import Setting

HIDDEN = "(hidden)"


class AuditedChange(NamedTuple):
    resource_type: str
    name: str
    code: int
    details: tuple[tuple[str, str], ...] = ()


def shown(table: Mapping[str, Setting], name: str, value: str | None) -> str:
    """The value of a setting. One that is not known may hold anything, so its value stays hidden."""
    setting = table.get(name)
    return HIDDEN if setting is None or setting.sensitive else value or ""
