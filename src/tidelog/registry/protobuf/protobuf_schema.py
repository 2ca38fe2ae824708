"""A Protobuf schema: what the registry asks of it, and descriptors for a decoder of records."""

import base64
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from tidelog.registry.parsed import Incompatibility, Policy, SchemaError
from tidelog.registry.protobuf.checking import check_reserved
from tidelog.registry.protobuf.comparing import differences
from tidelog.registry.protobuf.comparing_messages import members_of
from tidelog.registry.protobuf.differences import DIFFERENCES_MAX
from tidelog.registry.protobuf.elements import File, Message
from tidelog.registry.protobuf.linking import Linked, names_of
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.normalizing import normalize
from tidelog.registry.protobuf.parser import TEXT_MAX
from tidelog.registry.protobuf.printing import print_file
from tidelog.registry.protobuf.without_extensions import without_extensions
from tidelog.registry.schema import SchemaType


class ProtobufSchema:
    """`file` is the schema, `dependencies` the files of its references by the path of their import."""

    def __init__(self, file: File, dependencies: Mapping[str, File]) -> None:
        self._file = file
        self._dependencies = dependencies

    @property
    def type(self) -> SchemaType:
        return SchemaType.PROTOBUF

    @cached_property
    def text(self) -> str:
        return print_file(self._file)

    @cached_property
    def _names(self) -> Names:
        return names_of(self._file, self._dependencies)

    def check(self) -> None:
        """Raises SchemaError where names mean nothing, or declarations do not fit together."""
        check_reserved(self._file)
        Linked(self._file, self._dependencies)

    def check_length(self) -> None:
        """Raises SchemaError where the text, once it is stored, could not be read again."""
        if len(self.text) > TEXT_MAX:
            raise SchemaError(
                f"The schema has {len(self.text)} characters as it would be stored, with a line for each "
                f"field and full names, and at most {TEXT_MAX} are read. Split it into files."
            )

    def normalized(self) -> "ProtobufSchema":
        """Raises SchemaError where a name means nothing, or full names make the text too long."""
        normal = ProtobufSchema(normalize(self._file, self._names), self._dependencies)
        normal.check_length()
        return normal

    def formatted(self, format: str) -> str:
        """Knows `serialized`, the base64 of the descriptor, and `ignore_extensions`."""
        if format == "serialized":
            return base64.b64encode(self.descriptors()[-1].SerializeToString(deterministic=True)).decode()
        if format == "ignore_extensions":
            return print_file(without_extensions(self._file))
        return self.text

    def top_level_fields(self) -> frozenset[str]:
        messages = (kind for kind in self._file.types if isinstance(kind, Message))
        return frozenset(member.field.name for one in messages for member in members_of(one).values())

    def incompatibilities(
        self, writer: "ProtobufSchema", policy: Policy = Policy.STRICT
    ) -> list[Incompatibility]:
        found = differences(writer._file, writer._names, self._file, self._names)
        broken = islice((one for one in found if not one.is_compatible), DIFFERENCES_MAX)
        return [difference.incompatibility() for difference in broken]

    def descriptors(self) -> list[Any]:
        """Returns a FileDescriptorProto for each file, a file after those it imports, the schema last."""
        return Linked(self._file, self._dependencies).with_custom_options()

    def message_names(self) -> list[str]:
        """Returns the full names of all messages, outer ones before those in them."""
        names: list[str] = []
        waiting = [(self._file.package or "", self._file.types)]
        for prefix, types in waiting:
            for message in types:
                if isinstance(message, Message):
                    names.append(f"{prefix}.{message.name}" if prefix else message.name)
                    waiting.append((names[-1], message.types))
        return names
