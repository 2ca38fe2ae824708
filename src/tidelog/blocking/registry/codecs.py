"""How values of a schema become bytes and back: a codec for each kind, made when the first schema needs it.

fastavro and protobuf are extras, imported by the codecs that need them.
"""

from typing import Any, Protocol

from tidelog.blocking.registry.errors import PackageMissing
from tidelog.blocking.registry.framing import Framed
from tidelog.registry.schema import Dependencies, Schema, SchemaType


class Codec(Protocol):
    def decode(self, found: Framed) -> Any:
        """Raises UndecodableRecord."""

    def encode(self, value: Any) -> bytes:
        """Returns what stands behind the schema id. Raises UnencodableValue."""


def codec_of(schema: Schema, dependencies: Dependencies = (), *, message: str | None = None) -> Codec:
    """`message`: the name of the Protobuf message to write; without it the first of the schema is.

    Raises PackageMissing, and SchemaError for a text that cannot be read.
    """
    match schema.type:
        case SchemaType.AVRO:
            try:
                from tidelog.blocking.registry.avro_codec import AvroCodec
            except ModuleNotFoundError as error:
                raise _missing("Avro", error, "fastavro") from error
            return AvroCodec(schema.text, dependencies)
        case SchemaType.PROTOBUF:
            try:
                from tidelog.blocking.registry.protobuf_codec import ProtobufCodec
            except ModuleNotFoundError as error:
                raise _missing("Protobuf", error, "google") from error
            return ProtobufCodec(schema.text, dependencies, message)
        case SchemaType.JSON:
            from tidelog.blocking.registry.json_codec import JsonCodec

            return JsonCodec(schema.text, dependencies)


def _missing(kind: str, error: ModuleNotFoundError, package: str) -> Exception:
    if (error.name or "").partition(".")[0] != package:
        return error
    return PackageMissing(kind, {"google": "protobuf"}.get(package, package))
