"""Metadata records without their secrets: a dump is read, mailed and pasted."""

from typing import Any

from tidelog.base.listener_settings import find_broker_setting

HIDDEN = "(hidden)"
_SECRET_FIELDS = {"scram-credential-changed": ("salt", "stored_key", "server_key")}


def without_secrets(record: Any) -> Any:
    """The record as it may be shown; `record` is a metadata record as JSON has it."""
    if not isinstance(record, dict):
        return record
    kind = record.get("type")
    if kind == "config-changed":
        setting = find_broker_setting(str(record.get("key")))
        is_secret = setting is not None and setting.sensitive and record.get("value") is not None
        return record | {"value": HIDDEN} if is_secret else record
    secret = [name for name in _SECRET_FIELDS.get(str(kind), ()) if name in record]
    return record | dict.fromkeys(secret, HIDDEN)
