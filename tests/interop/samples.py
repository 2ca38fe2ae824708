"""Records that clients and brokers like to get wrong."""

from tests.interop.driver import Record

AWKWARD = [
    Record(b"key", b"value"),
    Record(None, b"no key"),
    Record(b"a deletion", None),
    Record(None, None),
    Record(b"empty value", b""),
    Record(b"", b"empty key"),
    Record(b"", b""),
    Record(b"k", b"v"),
    Record(b"one header", b"v", (("h", b"1"),)),
    Record(b"empty header value", b"v", (("h", b""),)),
    Record(b"null header value", b"v", (("h", None),)),
    Record(b"the same header twice", b"v", (("h", b"1"), ("h", b"2"), ("g", b"3"))),
    Record(b"beyond ASCII", "π ≈ 3.14159 🌊".encode(), (("Ωmega", "ü".encode()),)),
    Record(b"bytes", bytes(range(256)) * 4),
    Record(b"easy to compress", b"tide " * 20_000),
]


def writable_by(client: object, records: list[Record]) -> list[Record]:
    """What this client's own interface lets through."""
    can_write = getattr(client, "can_write", lambda record: True)
    return [record for record in records if can_write(record)]
