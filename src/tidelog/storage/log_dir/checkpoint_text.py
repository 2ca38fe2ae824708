"""The text of Kafka's checkpoint files, with a checksum that Kafka's own readers pass over.

0                       version
2                       how many lines follow
orders 0 1204           the lines, each with its fields
orders 1 977⎵⎵⇥⎵…       behind the last one: 32 spaces and tabs, the bits of the CRC32C of all before them

Kafka splits a line at white space and drops what trails. A file without the checksum, as Kafka itself or an
earlier version wrote it, is taken as it is; with a wrong one it is damaged. A file without lines has none,
and needs none: with any bit flipped, the version or the count no longer fits.
"""

from collections.abc import Sequence

from crc32c import crc32c

_VERSION = "0"
_BITS = 32
_BLANKS = " \t"
_TO_BITS = str.maketrans(_BLANKS, "01")
_TO_BLANKS = str.maketrans("01", _BLANKS)


def dump(lines: Sequence[str]) -> bytes:
    text = "\n".join((_VERSION, str(len(lines)), *lines))
    if lines:
        text += f"{crc32c(text.encode()):032b}".translate(_TO_BLANKS)
    return (text + "\n").encode()


def load(raw: bytes) -> list[str]:
    """Returns the lines; ValueError says why the file cannot be trusted."""
    text = raw.decode("ascii")
    if not text.endswith("\n"):
        raise ValueError("its last line is truncated")
    text = text[:-1]
    content = text.rstrip(_BLANKS)
    blanks = text[len(content) :]
    if blanks and (
        len(blanks) != _BITS or int(blanks.translate(_TO_BITS), 2) != crc32c(content.encode("ascii"))
    ):
        raise ValueError("its checksum does not match its content")
    if "\t" in content or "  " in content:
        raise ValueError("there is something behind its checksum")
    version, count, *lines = content.split("\n")
    if version != _VERSION or int(count) != len(lines):
        raise ValueError(f"version {version}, {count} lines announced, {len(lines)} found")
    return lines


def has_checksum(raw: bytes) -> bool:
    return raw.removesuffix(b"\n").endswith((b" ", b"\t"))
