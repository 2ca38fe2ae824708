"""Writes the encoder of one message version as Python source and compiles it.

Everything goes into one growing bytearray; only records and file ranges become parts of their own, so that
they are never copied. Neighbouring fields of fixed width are one `pack`, which also takes the length byte
of the string or array behind them as long as that fits one byte.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.wire.measure import has_records
from tidelog.wire.message import Part
from tidelog.wire.primitives import NUMBER_FORMATS, SMALL_ARRAY, array_writers, string_length, uvarint
from tidelog.wire.schema import Field, MessageSchema
from tidelog.wire.source import Source

Encoder = Callable[[Any, bytearray], list[Part]]

INLINE_BYTES = 512
"""Records up to this size are copied: a part of its own costs more than the copy."""

_FIXED = NUMBER_FORMATS | {"bool": "B"}  # "?" would take None for False; "B" refuses it


def compile_encoder(schema: MessageSchema, version: int, classes: dict[str, type]) -> Encoder:
    """A function `encode(message, out)` that appends to `out` and answers the parts, `out` first."""
    return _Encoder(schema, version, classes).compile()


class _Encoder:
    def __init__(self, schema: MessageSchema, version: int, classes: dict[str, type]) -> None:
        self.schema = schema
        self.version = version
        self.flexible = schema.is_flexible(version)
        self.classes = classes
        self.splits = has_records(schema.fields, version)
        self.out = "out"
        self.run: list[tuple[str, str]] = []
        self.source = Source()
        self.emit = self.source.emit
        self.block = self.source.block
        self.fresh = self.source.fresh
        self.source.names.update(
            ProtocolError=ProtocolError,
            Unfit=(struct.error, AttributeError, TypeError, ValueError, OverflowError),
            FileSlice=FileSlice,
            uvarint=uvarint,
            string_length=string_length,
            pack=struct.pack,
        )

    def compile(self) -> Encoder:
        title = f"{self.schema.name} v{self.version}"
        with self.block("def encode(message, out):"):
            if self.splits:
                self.emit("parts = [out]")
            with self.block("try:"):
                self.struct("message", self.schema.fields)
                self.flush()
            with self.block("except Unfit as error:"):
                self.emit(f"raise ProtocolError(f'{title} cannot be encoded: {{error}}') from error")
            if self.splits:
                with self.block("if not out:"):
                    self.emit("del parts[-1]")
            self.emit("return parts" if self.splits else "return [out]")
        function: Encoder = self.source.function("encode", f"encoder of {title}")
        return function

    @contextmanager
    def writing_to(self, name: str) -> Iterator[None]:
        self.emit(f"{name} = bytearray()")
        outer, self.out = self.out, name
        yield
        self.flush()
        self.out = outer

    def flush(self) -> None:
        run, self.run = self.run, []
        if len(run) == 1 and run[0][0] in "Bx":
            self.emit(f"{self.out}.append({run[0][1] or 0})")
        elif run:
            pack, _ = self.source.layout([code for code, _ in run], "pack")
            self.emit(f"{self.out} += {pack}({', '.join(value for code, value in run if code != 'x')})")

    def struct(self, owner: str, fields: tuple[Field, ...]) -> None:
        present = [field for field in fields if field.versions.hold(self.version)]
        for field in present:
            if field.tag is None:
                self.value(f"{owner}.{field.name}", field)
        if self.flexible:
            self.tags(owner, sorted((f for f in present if f.tag is not None), key=lambda f: f.tag or 0))

    def tags(self, owner: str, tagged: list[Field]) -> None:
        if not tagged:
            self.run.append(("x", ""))  # a section without tags: one zero byte
            return
        wanted = [(self.tag_is_set(owner, field), field) for field in tagged]
        count = self.fresh("tags")
        self.emit(f"{count} = {' + '.join(flag for flag, _ in wanted)}")
        self.run.append(("B", count))
        self.flush()
        with self.block(f"if {count}:"):
            for flag, field in wanted:
                with self.block(f"if {flag}:"):
                    content = self.fresh("tagged")
                    with self.writing_to(content):
                        self.value(f"{owner}.{field.name}", field)
                    self.emit(f"{self.out} += uvarint({field.tag}) + uvarint(len({content}))")
                    self.emit(f"{self.out} += {content}")

    def tag_is_set(self, owner: str, field: Field) -> str:
        """A tagged field is written only where it differs from its default."""
        flag, value = self.fresh("set"), f"{owner}.{field.name}"
        if field.is_array:
            self.emit(f"{flag} = len({value}) > 0")
        elif field.is_struct:
            empty = self.source.constant(self.classes[field.type](), "default_" + field.type)
            self.emit(f"{flag} = {value} is not None and {value} != {empty}")
        else:
            self.emit(f"{flag} = {value} != {field.default!r}")
        return flag

    def value(self, expression: str, field: Field) -> None:
        nullable = field.nullable_in(self.version)
        if field.is_array:
            self.array(expression, field, nullable)
        elif field.is_struct:
            self.nested(expression, field, nullable)
        elif field.type in _FIXED:
            self.run.append((_FIXED[field.type], expression))
        elif field.type == "uuid":
            self.uuid(expression)
        elif field.type == "rec":
            self.records(expression, nullable)
        else:
            self.blob(expression, field, nullable)

    def nested(self, expression: str, field: Field, nullable: bool) -> None:
        owner = self.fresh(field.name)
        self.emit(f"{owner} = {expression}")
        if not nullable:
            self.struct(owner, field.fields)
            return
        self.flush()
        with self.block(f"if {owner} is None:"):
            self.emit(f"{self.out}.append(255)")
        with self.block("else:"):
            self.run.append(("B", "1"))
            self.struct(owner, field.fields)
            self.flush()

    def uuid(self, expression: str) -> None:
        name = self.fresh("uuid")
        self.emit(f"{name} = {expression}")
        with self.block(f"if len({name}) != 16:"):  # "16s" would pad or cut it
            self.emit("raise ValueError('an id must have 16 bytes')")
        self.run.append(("16s", name))

    def blob(self, expression: str, field: Field, nullable: bool) -> None:
        name, size = self.fresh("blob"), self.fresh("n")
        is_string = field.type == "str"
        code = "h" if is_string else "i"
        self.emit(f"{name} = {expression}")
        with self.unless_null(name, code, nullable):
            if is_string:
                self.emit(f"{name} = {name}.encode()")
            self.emit(f"{size} = len({name}){' + 1' if self.flexible else ''}")
            self.length(size, code, "string_length" if is_string else "uvarint")
            self.emit(f"{self.out} += {name}")

    @contextmanager
    def unless_null(self, name: str, legacy_code: str, nullable: bool) -> Iterator[None]:
        """Write the null where `name` is None; what the caller emits goes into the other case."""
        if not nullable:
            yield
            return
        before = list(self.run)
        with self.block(f"if {name} is None:"):
            self.run.append(("x", "") if self.flexible else (legacy_code, "-1"))
            self.flush()
        with self.block("else:"):
            self.run = before
            yield
            self.flush()

    def length(self, size: str, legacy_code: str, writer: str) -> None:
        """Flush the pending run with the length at its end, in one pack where the length is one byte."""
        if not self.flexible:
            self.run.append((legacy_code, size))
            self.flush()
            return
        before = list(self.run)
        with self.block(f"if {size} < 128:"):
            self.run.append(("B", size))
            self.flush()
        with self.block("else:"):
            self.run = before
            self.flush()
            self.emit(f"{self.out} += {writer}({size})")

    def records(self, expression: str, nullable: bool) -> None:
        name, size = self.fresh("records"), self.fresh("n")
        self.emit(f"{name} = {expression}")
        with self.unless_null(name, "i", nullable):
            self.emit(f"{size} = len({name}){' + 1' if self.flexible else ''}")
            self.length(size, "i", "uvarint")
            with self.block(f"if {name}:"):
                with self.block(f"if {size} <= {INLINE_BYTES} and type({name}) is not FileSlice:"):
                    self.emit(f"out += {name}")
                with self.block("else:"):
                    self.emit("out = bytearray()")
                    self.emit(f"parts += {name}, out")

    def array(self, expression: str, field: Field, nullable: bool) -> None:
        name, count = self.fresh(field.name), self.fresh("n")
        self.emit(f"{name} = {expression}")
        with self.unless_null(name, "i", nullable):
            self.emit(f"{count} = len({name}){' + 1' if self.flexible else ''}")
            if field.type in NUMBER_FORMATS:
                self.numbers(name, count, NUMBER_FORMATS[field.type])
                return
            self.length(count, "i", "uvarint")
            item = self.fresh("item")
            with self.block(f"for {item} in {name}:"):
                if field.is_struct:
                    self.struct(item, field.fields)
                else:
                    self.value(item, field._replace(is_array=False, nullable=None))
                self.flush()

    def numbers(self, name: str, count: str, code: str) -> None:
        """A short array is packed together with its count and the fields before it."""
        before, self.run = self.run, []
        codes = [code for code, _ in before] + ["B" if self.flexible else "i"]
        small = self.source.constant(array_writers("".join(codes), code), "write_" + code)
        values = ", ".join([value for code, value in before if code != "x"] + [count, "*" + name])
        if self.flexible and not before:
            with self.block(f"if not {name}:"):
                self.emit(f"{self.out}.append(1)")
        keyword = "elif" if self.flexible and not before else "if"
        with self.block(f"{keyword} len({name}) < {SMALL_ARRAY}:"):
            self.emit(f"{self.out} += {small}[len({name})]({values})")
        with self.block("else:"):
            self.run = before
            self.length(count, "i", "uvarint")
            self.emit(f"{self.out} += pack(f'>{{len({name})}}{code}', *{name})")
