"""The trace context of a produce request, found in its raw frame."""

import pytest

from tidelog.broker.metrics.trace_parent import SEARCHED_BYTES, trace_parent

CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def frame(*headers: tuple[str, bytes], value: bytes = b"v") -> memoryview:
    record = (
        b"\x00" * 20
        + value
        + b"".join(
            bytes([2 * len(key)]) + key.encode() + bytes([2 * len(text)]) + text for key, text in headers
        )
    )
    return memoryview(record)


def test_a_header_is_found() -> None:
    assert trace_parent(frame(("a", b"b"), ("traceparent", CONTEXT.encode()))) == CONTEXT


@pytest.mark.parametrize(
    "found",
    [
        frame(),
        frame(("traceparent", b"01-short")),
        frame(("traceparent", CONTEXT.upper().encode())),
        frame(("xtraceparent", CONTEXT.encode())),
        frame(value=CONTEXT.encode()),
        frame(("traceparent", CONTEXT.encode()), value=bytes(SEARCHED_BYTES)),
        memoryview(b""),
    ],
)
def test_what_is_none(found: memoryview) -> None:
    assert trace_parent(found) == ""
