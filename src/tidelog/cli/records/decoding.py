"""Keys and values decoded by the schema ids that they carry, for `tidelog consume`.

A record that cannot be decoded is shown as it is, and a note says why; after a few notes there is one more.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from tidelog.cli.output import note
from tidelog.cli.records.format import Consumed, DecodedField
from tidelog.cli.records.json_values import json_ready
from tidelog.cli.schema.connection import default_registry, explained, find_registry
from tidelog.cli.session import Session

if TYPE_CHECKING:
    from tidelog.blocking.registry.decoding import Decoded, RecordDecoder

OFF = "off"
NOTES_MAX = 5
UNDECODED_FORMS = ("raw", "hex")
"""Formats that show bytes as they are."""

Show = Callable[[Consumed], Consumed]


def decoder_for(session: Session, url: str | None, form: str, *, on_terminal: bool) -> Show | None:
    """Returns None where records are shown as they are.

    For a person at a terminal the brokers' own port is tried, too, and silence there is no error.
    """
    if url == OFF or form in UNDECODED_FORMS:
        return None
    from tidelog.blocking.registry.client import RegistryClient
    from tidelog.blocking.registry.decoding import RecordDecoder

    options = find_registry(session, url)
    if options is not None:
        client = RegistryClient(options)
        return Decoding(RecordDecoder(client), lambda: explained(options)).shown
    if not on_terminal:
        return None
    from dataclasses import replace

    guessed = replace(default_registry(session), retry_s=0.0, timeout_s=min(session.timeout_s, 2.0))
    return Decoding(RecordDecoder(RegistryClient(guessed)), None).shown


class Decoding:
    def __init__(
        self,
        decoder: "RecordDecoder",
        errors: Callable[[], AbstractContextManager[None]] | None,
        say: Callable[[str], None] = note,
    ) -> None:
        """`errors` explains what goes wrong with the registry; None: then records are shown as they are."""
        self._decoder = decoder
        self._errors = errors
        self._say = say
        self._notes = 0
        self._is_off = False

    def shown(self, record: Consumed) -> Consumed:
        if self._is_off:
            return record
        return record._replace(
            key_decoded=self._field(record, record.key, is_key=True),
            value_decoded=self._field(record, record.value, is_key=False),
        )

    def _field(self, record: Consumed, data: bytes | None, *, is_key: bool) -> DecodedField | None:
        from tidelog.base.errors import TidelogError

        if not data:
            return None
        try:
            with nullcontext() if self._errors is None else self._errors():
                found = self._decoded(record, data, is_key)
        except TidelogError:
            self._is_off = True
            return None
        if found is None:
            return None
        return DecodedField(json_ready(found.value), found.schema_key, found.schema.type.value)

    def _decoded(self, record: Consumed, data: bytes, is_key: bool) -> "Decoded | None":
        from tidelog.blocking.registry.errors import PackageMissing, UndecodableRecord

        try:
            return self._decoder.decode(data, headers=record.headers, is_key=is_key)
        except (UndecodableRecord, PackageMissing) as error:
            self._note(record, "key" if is_key else "value", str(error))
            return None

    def _note(self, record: Consumed, what: str, reason: str) -> None:
        if self._errors is None:
            return  # bytes that only look as if a schema had written them
        from rich.markup import escape

        self._notes += 1
        if self._notes <= NOTES_MAX:
            place = f"{record.topic}[{record.partition}] offset {record.offset}"
            self._say(f"[yellow]{escape(f'{place}: the {what} is shown as it is: {reason}.')}[/]")
        elif self._notes == NOTES_MAX + 1:
            self._say("[yellow]Further records that cannot be decoded are not reported.[/]")
