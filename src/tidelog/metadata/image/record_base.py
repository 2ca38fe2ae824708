"""The root of all metadata records."""

import msgspec


class MetadataRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """Unknown fields are refused: dropping one would lose what it meant."""
