"""The first users of a new cluster: records that its first controller writes before any client can connect.

`tidelog security init` writes them into the log dirs of the voters, as a file of lines:

    {"version":1,"cluster_id":"…"}         the id of the cluster that it is made for; "" for any
    {"type":"scram-credential-changed",…}  a record for each user and mechanism
    # sha256 <64 hex digits>               of all lines above

Every voter has the same file, so it does not matter which of them is elected.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import StorageError
from tidelog.metadata.brokers.brokers import decide_create_cluster
from tidelog.metadata.brokers.features import decide_default_features
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record, decode_record, encode_record
from tidelog.metadata.image.security_records import ScramCredentialChanged
from tidelog.security.sasl.scram_credential import ScramMechanism

VERSION = 1
BYTES_MAX = 1 << 20
_CHECKSUM = b"# sha256 "


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    cluster_id: str


class Bootstrap(msgspec.Struct, frozen=True):
    cluster_id: str
    """Empty where the file is for any cluster."""
    credentials: tuple[ScramCredentialChanged, ...]

    def dump(self) -> bytes:
        header = msgspec.json.encode(_Header(VERSION, self.cluster_id))
        content = b"".join(line + b"\n" for line in (header, *map(encode_record, self.credentials)))
        return content + _CHECKSUM + hashlib.sha256(content).hexdigest().encode() + b"\n"

    @classmethod
    def load(cls, raw: bytes, path: str) -> "Bootstrap":
        """Raises StorageError for anything but what `dump` wrote: it would decide who may log in."""
        try:
            return cls._parse(raw)
        except (ValueError, StorageError, msgspec.MsgspecError) as error:
            raise StorageError(
                f"{path} is damaged or was changed, so the cluster's first users are unknown: {error}. "
                "Write it again with tidelog security init, the same one for every voter"
            ) from error

    @classmethod
    def _parse(cls, raw: bytes) -> "Bootstrap":
        if len(raw) > BYTES_MAX:
            raise ValueError(f"it has {len(raw)} bytes; the limit is {BYTES_MAX}")
        content, found, checksum = raw.rpartition(_CHECKSUM)
        if not found or checksum != hashlib.sha256(content).hexdigest().encode() + b"\n":
            raise ValueError("its checksum does not match its content")
        first, *lines = content.splitlines()
        header = msgspec.json.decode(first, type=_Header)
        if header.version != VERSION:
            raise ValueError(f"version {header.version} instead of {VERSION}")
        return cls(header.cluster_id, tuple(map(_credential, lines)))

    def is_in(self, image: ClusterImage) -> bool:
        """Returns whether the cluster has these very credentials."""
        known = image.security.credentials
        return all(
            (mechanism := ScramMechanism.by_name(record.mechanism)) is not None
            and (found := known.get((record.user, mechanism))) is not None
            and found.stored_key == record.stored_key
            for record in self.credentials
        )


def decide_new_cluster(
    image: ClusterImage, *, cluster_id: str, config: BrokerConfig, bootstrap: Bootstrap | None = None
) -> Decision[str]:
    """The cluster, its features and its first users as one entry of the log: all of them exist, or none."""
    created = decide_create_cluster(image, cluster_id=cluster_id)
    if image.cluster_id:
        return created
    users: Sequence[Record] = () if bootstrap is None else bootstrap.credentials
    features = decide_default_features(image, config)
    return Decision([*created.records, *features.records, *users], created.results)


def _credential(line: bytes) -> ScramCredentialChanged:
    record = decode_record(line)
    if not isinstance(record, ScramCredentialChanged):
        raise ValueError(f"a record of type {type(record).__name__}; only users can be set up this way")
    if not record.user or ScramMechanism.by_name(record.mechanism) is None:
        raise ValueError("a credential without a user, or with an unknown mechanism")
    return record
