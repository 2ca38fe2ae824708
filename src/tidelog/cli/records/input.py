"""What `tidelog produce` reads: arguments, lines or whole files, as text, JSON, hex or base64."""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidelog.cli.exits import CliError, Exit

FORMATS = ("text", "json", "hex", "base64")
JSON_FIELDS = {"key", "value", "headers", "partition", "timestamp", "topic", "offset", "timestamp_type"}
JSON_FIELDS |= {"key_schema", "value_schema"}


class Outgoing(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    partition: int | None
    timestamp: int | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the options say about every record."""

    form: str = "text"
    key: bytes | None = None
    key_separator: str | None = None
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)
    partition: int | None = None
    timestamp: int | None = None
    null_value: bool = False
    encode_key: Callable[[Any], bytes] | None = None
    """From a JSON value to bytes, where a schema is given."""
    encode_value: Callable[[Any], bytes] | None = None

    def records(self, lines: Iterable[bytes]) -> Iterator[Outgoing]:
        for number, line in enumerate(lines, 1):
            try:
                yield self.record(line)
            except ValueError as error:
                raise CliError(
                    f"Record {number} of the input is not valid {self.form}: {error}.", code=Exit.USAGE
                ) from error

    def record(self, data: bytes) -> Outgoing:
        if self.form == "json":
            return self._from_json(data)
        key = self.key
        if self.key_separator is not None:
            front, found, back = data.partition(self.key_separator.encode())
            if not found:
                raise ValueError(f"it has no key separator {self.key_separator!r}")
            key, data = self._bytes(front, self.encode_key), back
        value = None if self.null_value and not data else self._bytes(data, self.encode_value)
        return Outgoing(key, value, self.headers, self.partition, self.timestamp)

    def _bytes(self, data: bytes, encode: Callable[[Any], bytes] | None) -> bytes:
        if encode is None:
            return decode(data, self.form)
        from tidelog.cli.records.encoding import json_of

        return encode(json_of(data))

    def tombstone(self) -> Outgoing:
        return Outgoing(self.key, None, self.headers, self.partition, self.timestamp)

    def _from_json(self, data: bytes) -> Outgoing:
        """The lines that `tidelog consume --json` prints; options fill in what a line leaves out."""
        line = json.loads(data)
        if not isinstance(line, dict) or not ("value" in line or "key" in line):
            raise ValueError(
                'an object such as {"key": "k", "value": "v", "headers": [["h", "x"]]} is wanted'
            )
        if unknown := sorted(set(line) - JSON_FIELDS):
            raise ValueError(f"'{unknown[0]}' is not one of {', '.join(sorted(JSON_FIELDS))}")
        headers = line.get("headers") or []
        pairs = (
            list(headers.items()) if isinstance(headers, dict) else [(name, value) for name, value in headers]
        )
        partition, timestamp = line.get("partition"), line.get("timestamp")
        return Outgoing(
            json_to_bytes(line["key"], self.encode_key) if "key" in line else self.key,
            json_to_bytes(line.get("value"), self.encode_value),
            [(str(name), json_to_bytes(value)) for name, value in pairs] or self.headers,
            self.partition if self.partition is not None else partition,
            self.timestamp if self.timestamp is not None else timestamp,
        )


def decode(data: bytes, form: str) -> bytes:
    if form == "hex":
        try:
            return bytes.fromhex(data.decode("ascii"))
        except ValueError:
            raise ValueError("it takes an even number of the digits 0-9 and a-f") from None
    if form == "base64":
        try:
            return base64.b64decode(data.strip(), validate=True)
        except binascii.Error as error:
            raise ValueError(str(error)) from None
    return data


def json_to_bytes(value: Any, encode: Callable[[Any], bytes] | None = None) -> bytes | None:
    if value is None:
        return None
    if encode is not None:
        return encode(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return decode(str(value["base64"]).encode(), "base64")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
