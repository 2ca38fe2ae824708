"""Whose log dir it is: Kafka's `meta.properties`.

The last line is a comment with the CRC32C of what is above it. Kafka passes over it, and files that Kafka
wrote have none.
"""

from dataclasses import dataclass

from crc32c import crc32c

from tidelog.base.errors import StorageError
from tidelog.base.ids import NodeId

_VERSION = "1"
_VERSION_WITH_JOURNAL = "2"
"""Versions of Tidelog that know of no journal refuse a log dir with one: they would not replay it."""
_CHECKSUM = b"# crc32c "


@dataclass(frozen=True, slots=True)
class LogDirIdentity:
    cluster_id: str
    node_id: NodeId
    directory_id: str
    journal_id: str = ""
    """Of the journal that a start must replay; empty where there is none."""

    def dump(self) -> bytes:
        version = _VERSION_WITH_JOURNAL if self.journal_id else _VERSION
        journal = f"journal.id={self.journal_id}\n" if self.journal_id else ""
        content = (
            f"version={version}\ncluster.id={self.cluster_id}\n"
            f"node.id={self.node_id}\ndirectory.id={self.directory_id}\n{journal}"
        ).encode()
        return content + _CHECKSUM + b"%08x\n" % crc32c(content)

    @classmethod
    def load(cls, raw: bytes, path: str) -> "LogDirIdentity":
        try:
            content, found, checksum = raw.rpartition(_CHECKSUM)
            if found and checksum != b"%08x\n" % crc32c(content):
                raise ValueError("its checksum does not match its content")
            lines = [line for line in raw.decode().splitlines() if line and not line.startswith("#")]
            values = dict(line.split("=", 1) for line in lines)
            if values["version"] not in (_VERSION, _VERSION_WITH_JOURNAL):
                raise ValueError(f"version {values['version']} instead of {_VERSION}")
            journal_id = values["journal.id"] if values["version"] == _VERSION_WITH_JOURNAL else ""
            if journal_id and len(bytes.fromhex(journal_id)) != 16:
                raise ValueError(f"{journal_id} is no id of a journal")
            return cls(
                values["cluster.id"], int(values["node.id"]), values.get("directory.id", ""), journal_id
            )
        except (ValueError, KeyError) as error:
            raise StorageError(
                f"{path} is damaged, so the owner of this log dir is unknown: {error}. Restore it from a "
                "backup; or correct it, with the ids that broker-registered and cluster-created records show "
                "in `tidelog log dump --records` of the directory __cluster_metadata-0, and remove the line "
                "with the checksum"
            ) from error
