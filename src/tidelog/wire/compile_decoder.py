"""Writes the decoder of one message version as Python source and compiles it.

The function is flat: nested structs become nested loops, so that a whole message is read with local
variables only. Neighbouring fields of fixed width are one `unpack_from`, which also takes the length byte
of the string or array behind them. A slice that runs past the end is harmless: the position does too, and
the last check, that all bytes were used up and no more, catches it.
"""

import struct
from collections.abc import Callable
from struct import Struct
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.wire.measure import has_records, minimum_size, weight
from tidelog.wire.primitives import (
    DECODED_BYTES_MAX,
    NUMBER_FORMATS,
    PLAIN_BYTES_MAX,
    SMALL_ARRAY,
    TAG_WEIGHT,
    array_readers,
    read_string_length,
    read_uvarint,
    skip_tags,
)
from tidelog.wire.schema import Field, MessageSchema
from tidelog.wire.source import Source

Decoder = Callable[..., Any]

_FIXED = NUMBER_FORMATS | {"bool": "?", "uuid": "16s"}
_WORTH_ITERATING = 4


def compile_decoder(schema: MessageSchema, version: int, classes: dict[str, type]) -> Decoder:
    """A function `decode(data, p=0)` that reads the message from `p` to the very end of `data`."""
    return _Decoder(schema, version, classes).compile()


class _Decoder:
    def __init__(self, schema: MessageSchema, version: int, classes: dict[str, type]) -> None:
        self.schema = schema
        self.version = version
        self.title = f"{schema.name} v{version}"
        self.flexible = schema.is_flexible(version)
        self.classes = classes
        self.keeps_view = has_records(schema.fields, version)
        self.run: list[tuple[str, str]] = []
        self.source = Source()
        self.emit = self.source.emit
        self.block = self.source.block
        self.fresh = self.source.fresh
        self.source.names.update(
            ProtocolError=ProtocolError,
            Malformed=(struct.error, IndexError, UnicodeDecodeError),
            uvarint=read_uvarint,
            string_length=read_string_length,
            skip_tags=skip_tags,
            unpack_from=struct.unpack_from,
            two_bytes=Struct("BB").unpack_from,
        )

    def compile(self) -> Decoder:
        title = self.title
        with self.block("def decode(data, p=0, rest=False):"):
            self.emit("end = len(data)")
            if not self.keeps_view:
                # Slices of bytes cost half of what slices of a memoryview do, so it pays to copy first.
                with self.block(f"if end - p > {PLAIN_BYTES_MAX}:"):
                    self.fail(f"{title}: larger than {PLAIN_BYTES_MAX} bytes without records")
                with self.block("if type(data) is not bytes:"):
                    self.emit("data = bytes(data)")
            self.emit(f"room = {DECODED_BYTES_MAX}")
            with self.block("try:"):
                built = self.struct(self.schema.name, self.schema.fields)
                self.flush()
                with self.block("if p == end or (rest and p < end):"):
                    self.emit(f"return {built}")
            with self.block("except Malformed as error:"):
                self.emit(f"raise ProtocolError(f'{title}: malformed near byte {{p}}: {{error}}') from None")
            with self.block("if p > end:"):
                self.fail(f"{title}: cut short")
            self.emit(f"raise ProtocolError(f'{title}: {{end - p}} bytes too many')")
        function: Decoder = self.source.function("decode", f"decoder of {title}")
        return function

    def fail(self, what: str) -> None:
        self.emit(f"raise ProtocolError({what!r})")

    def flush(self) -> None:
        run, self.run = self.run, []
        if not run:
            return
        names = [name for _, name in run]
        if [code for code, _ in run] == ["B"]:
            self.emit(f"{names[0]} = data[p]; p += 1")
            return
        unpack, size = self.source.layout([code for code, _ in run], "unpack_from")
        self.emit(f"{', '.join(names)}, = {unpack}(data, p); p += {size}")

    def struct(self, class_name: str, fields: tuple[Field, ...]) -> str:
        """Emit the reading of a struct's fields; answer the expression that builds it once flushed."""
        known = {f.name: self.default(f) for f in fields if not f.versions.hold(self.version)}
        tagged = {}
        for field in fields:
            if field.name in known:
                continue
            if field.tag is not None:
                tagged[field.tag] = field
                known[field.name] = self.fresh(field.name)
            else:
                known[field.name] = self.value(field)
        if self.flexible:
            self.tags(tagged, known)
        made = self.source.constant(self.classes[class_name], class_name)
        return f"{made}({', '.join(known[field.name] for field in fields)})"

    def default(self, field: Field) -> str:
        if field.is_struct and not field.is_array and field.default is None and field.tag is None:
            if field.nullable is None:
                return f"{self.source.constant(self.classes[field.type], field.type)}()"
            return "None"
        return "[]" if field.default == () else repr(field.default)

    def tags(self, tagged: dict[int, Field], known: dict[str, str]) -> None:
        count = self.fresh("tags")
        self.run.append(("B", count))
        self.flush()
        with self.block(f"if {count}:"):
            self.long_length(count, "uvarint")
            self.charge(count, TAG_WEIGHT)
            if tagged:
                for field in tagged.values():
                    self.emit(f"{known[field.name]} = {self.default(field)}")
                self.known_tags(count, tagged, known)
            else:
                self.emit(f"p = skip_tags(data, p, {count})")
        if tagged:
            with self.block("else:"):
                for field in tagged.values():
                    self.emit(f"{known[field.name]} = {self.default(field)}")

    def known_tags(self, count: str, tagged: dict[int, Field], known: dict[str, str]) -> None:
        last, tag, stop = self.fresh("last"), self.fresh("tag"), self.fresh("stop")
        self.emit(f"{last} = -1")
        with self.block(f"for _ in range({count}):"):
            self.emit(f"{tag}, p = uvarint(data, p)")
            self.emit(f"{stop}, p = uvarint(data, p)")
            self.emit(f"{stop} += p")
            with self.block(f"if {tag} <= {last} or {stop} > end:"):
                self.fail("a tagged field is out of order or cut short")
            self.emit(f"{last} = {tag}")
            keyword = "if"
            for number, field in sorted(tagged.items()):
                with self.block(f"{keyword} {tag} == {number}:"):
                    value = self.value(field)
                    self.flush()
                    self.emit(f"{known[field.name]} = {value}")
                    with self.block(f"if p != {stop}:"):
                        self.fail(f"tagged field {field.name} has the wrong size")
                keyword = "elif"
            with self.block("else:"):
                self.emit(f"p = {stop}")

    def value(self, field: Field) -> str:
        """Emit the reading of one field; answer the expression of its value, valid after a flush."""
        if field.is_array:
            return self.array(field)
        if field.is_struct:
            return self.nested(field)
        if field.type in _FIXED:
            name = self.fresh(field.name)
            self.run.append((_FIXED[field.type], name))
            return name
        return self.blob(field, field.nullable_in(self.version))

    def nested(self, field: Field) -> str:
        if not field.nullable_in(self.version):
            return self.struct(field.type, field.fields)
        name, marker = self.fresh(field.name), self.fresh("marker")
        self.run.append(("b", marker))
        self.flush()
        with self.block(f"if {marker} < 0:"):
            self.emit(f"{name} = None")
        with self.block("else:"):
            built = self.struct(field.type, field.fields)
            self.flush()
            self.emit(f"{name} = {built}")
        return name

    def blob(self, field: Field, nullable: bool) -> str:
        """A string, bytes or records: a length, then that many bytes."""
        name = self.fresh(field.name)
        length = self.length("h" if field.type == "str" else "i")
        if self.flexible and field.type == "rec":
            self.records_length(length)
        elif self.flexible:
            self.long_length(length, "string_length" if field.type == "str" else "uvarint")
        content = {
            ("str", True): "data[p:e].tobytes().decode()",
            ("str", False): "data[p:e].decode()",
            ("bytes", True): "data[p:e].tobytes()",
        }.get((field.type, self.keeps_view), "data[p:e]")
        with self.block(f"if {length} > 0:" if self.flexible else f"if {length} >= 0:"):
            self.emit(f"e = p + {length}{' - 1' if self.flexible else ''}")
            self.emit(f"{name} = {content}")
            self.emit("p = e")
        self.null_case(name, length, nullable, field.name)
        return name

    def length(self, legacy_code: str) -> str:
        length = self.fresh("n")
        self.run.append(("B" if self.flexible else legacy_code, length))
        self.flush()
        return length

    def long_length(self, length: str, reader: str) -> None:
        with self.block(f"if {length} > 127:"):
            self.emit(f"{length}, p = {reader}(data, p - 1)")

    def records_length(self, length: str) -> None:
        """Records of 16 KiB to 2 MiB are the common case and worth an inlined varint of three bytes."""
        with self.block(f"if {length} > 127:"):
            self.emit("second, third = two_bytes(data, p)")
            with self.block("if second > 127 > third:"):
                self.emit(f"{length} = {length} & 127 | (second & 127) << 7 | third << 14; p += 2")
            with self.block("else:"):
                self.emit(f"{length}, p = uvarint(data, p - 1)")

    def null_case(self, name: str, length: str, nullable: bool, what: str) -> None:
        if nullable and self.flexible:
            with self.block("else:"):
                self.emit(f"{name} = None")
            return
        if nullable:
            with self.block(f"elif {length} == -1:"):
                self.emit(f"{name} = None")
        with self.block("else:"):
            self.fail(f"{self.title}: {what} is null or has a negative length")

    def charge(self, count: str, each: int) -> None:
        self.emit(f"room -= {count} * {each}")
        with self.block("if room < 0:"):
            self.fail(f"{self.title}: would take more than {DECODED_BYTES_MAX} bytes")

    def array(self, field: Field) -> str:
        name = self.fresh(field.name)
        count = self.length("i")
        if self.flexible:
            self.long_length(count, "uvarint")
        with self.block(f"if {count} > {1 if self.flexible else 0}:"):
            if self.flexible:
                self.emit(f"{count} -= 1")
            smallest = minimum_size(field, self.version, self.flexible)
            with self.block(f"if {count} * {smallest} > end - p:"):
                self.fail(f"{self.title}: {field.name} counts more than the frame holds")
            self.charge(count, weight(field, self.version))
            self.elements(name, count, field)
        with self.block(f"elif {count} == {1 if self.flexible else 0}:"):
            self.emit(f"{name} = []")
        self.null_case(name, count, field.nullable_in(self.version), field.name)
        return name

    def elements(self, name: str, count: str, field: Field) -> None:
        if field.type == "uuid":
            self.emit(f"e = p + {count} * 16")
            self.emit(f"{name} = [bytes(data[at:at + 16]) for at in range(p, e, 16)]; p = e")
            return
        if field.type in NUMBER_FORMATS:
            code = NUMBER_FORMATS[field.type]
            small = self.source.constant(array_readers(code), "read_" + code)
            with self.block(f"if {count} < {SMALL_ARRAY}:"):
                self.emit(f"{name} = list({small}[{count}](data, p))")
            with self.block("else:"):
                self.emit(f"{name} = list(unpack_from(f'>{{{count}}}{code}', data, p))")
            self.emit(f"p += {count} * {Struct('>' + code).size}")
            return
        fixed = (inner.type in _FIXED and not inner.is_array for inner in self.untagged(field.fields))
        if field.is_struct and all(fixed):
            self.fixed_elements(name, count, field)
            with self.block("else:"):
                self.loop(name, count, field)
        else:
            self.loop(name, count, field)

    def untagged(self, fields: tuple[Field, ...]) -> list[Field]:
        return [field for field in fields if field.tag is None and field.versions.hold(self.version)]

    def fixed_elements(self, name: str, count: str, field: Field) -> None:
        """Structs of one size, without tags, are read by one iterator instead of one by one."""
        present = {inner.name: self.fresh(inner.name) for inner in self.untagged(field.fields)}
        codes = [_FIXED[inner.type] for inner in self.untagged(field.fields)] + ["x"] * self.flexible
        unpack, size = self.source.layout(codes, "iter_unpack")
        condition = f"{count} >= {_WORTH_ITERATING}"
        if self.flexible:
            tags = f"data[p + {size - 1}:p + {count} * {size}:{size}]"
            condition += f" and {f'bytes({tags})' if self.keeps_view else tags}.count(0) == {count}"
        made = self.source.constant(self.classes[field.type], field.type)
        values = ", ".join(present.get(inner.name) or self.default(inner) for inner in field.fields)
        with self.block(f"if {condition}:"):
            self.emit(f"e = p + {count} * {size}")
            self.emit(
                f"{name} = [{made}({values}) for {', '.join(present.values())}, in {unpack}(data[p:e])]"
            )
            self.emit("p = e")

    def loop(self, name: str, count: str, field: Field) -> None:
        add = self.fresh("add")
        self.emit(f"{name} = []; {add} = {name}.append")
        with self.block(f"for _ in range({count}):"):
            built = self.struct(field.type, field.fields) if field.is_struct else self.blob(field, False)
            self.flush()
            self.emit(f"{add}({built})")
