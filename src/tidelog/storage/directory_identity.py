"""Whose data directory it is: Kafka's `meta.properties`."""

from dataclasses import dataclass

from tidelog.base.errors import StorageError
from tidelog.base.ids import NodeId

_VERSION = "1"


@dataclass(frozen=True, slots=True)
class DirectoryIdentity:
    cluster_id: str
    node_id: NodeId
    directory_id: str

    def dump(self) -> bytes:
        return (
            f"version={_VERSION}\ncluster.id={self.cluster_id}\n"
            f"node.id={self.node_id}\ndirectory.id={self.directory_id}\n"
        ).encode()

    @classmethod
    def load(cls, raw: bytes, path: str) -> "DirectoryIdentity":
        try:
            lines = [line for line in raw.decode().splitlines() if line and not line.startswith("#")]
            values = dict(line.split("=", 1) for line in lines)
            if values["version"] != _VERSION:
                raise ValueError(f"version {values['version']}, {_VERSION} is known")
            return cls(values["cluster.id"], int(values["node.id"]), values.get("directory.id", ""))
        except (ValueError, KeyError) as error:
            raise StorageError(
                f"{path} does not say whose folder this is ({error}); restore it, or use another folder"
            ) from error
