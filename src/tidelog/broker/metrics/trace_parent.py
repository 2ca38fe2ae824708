"""The W3C trace context of a produce request: the header `traceparent` of its first record that has one.

A search in the raw frame, which finds it in batches that are not compressed. To decompress or decode a batch
for it would cost more than the answer is worth. Only brokers that trace look for it.
"""

import re

SEARCHED_BYTES = 64 * 1024
_HEADER = re.compile(
    rb"\x16traceparent"  # a length of 11, as a zigzag varint, and the key
    rb"\x6e"  # a length of 55
    rb"(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"
)


def trace_parent(frame: memoryview) -> str:
    """Returns the header's value; "" where there is none, or one that this version cannot read."""
    found = _HEADER.search(frame[:SEARCHED_BYTES])
    return "" if found is None else found[1].decode()
