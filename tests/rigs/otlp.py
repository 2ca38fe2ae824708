"""OTLP's MetricsData as clients push it, written by hand: the field numbers are those of metrics/v1."""

import struct
from collections.abc import Mapping

GAUGE, SUM = 5, 7
DELTA, CUMULATIVE = 1, 2


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def attributes(pairs: Mapping[str, str], field_number: int) -> bytes:
    return b"".join(
        field(field_number, field(1, key.encode()) + field(2, field(1, text.encode())))
        for key, text in pairs.items()
    )


def point(value: float, labels: Mapping[str, str] | None = None) -> bytes:
    if isinstance(value, int):
        held = varint(6 << 3 | 1) + struct.pack("<q", value)
    else:
        held = varint(4 << 3 | 1) + struct.pack("<d", value)
    return attributes(labels or {}, 7) + varint(3 << 3 | 1) + bytes(8) + held


def gauge(name: str, *points: bytes) -> bytes:
    return field(1, name.encode()) + field(GAUGE, b"".join(field(1, one) for one in points))


def counter(name: str, *points: bytes, temporality: int = CUMULATIVE) -> bytes:
    held = b"".join(field(1, one) for one in points) + number(2, temporality) + number(3, 1)
    return field(1, name.encode()) + field(SUM, held)


def metrics_data(*metrics: bytes, resource: Mapping[str, str] | None = None) -> bytes:
    scope = b"".join(field(2, metric) for metric in metrics)
    return field(1, field(1, attributes(resource or {}, 1)) + field(2, scope))
