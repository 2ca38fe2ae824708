"""Decoded values as JSON: times in ISO 8601, decimals and UUIDs as text, bytes as in `consume --json`."""

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID


def json_ready(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(name): json_ready(inner) for name, inner in value.items()}
        case list() | tuple():
            return [json_ready(inner) for inner in value]
        case bytes() | bytearray() | memoryview():
            from tidelog.cli.records.format import json_bytes

            return json_bytes(bytes(value))
        case datetime() | date() | time():
            return value.isoformat().replace("+00:00", "Z")
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value)
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case _:
            return str(value)
