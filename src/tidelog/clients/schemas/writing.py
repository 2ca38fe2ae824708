"""What all serializers with a schema do: find the subject, register the schema there once, frame bytes."""

from abc import abstractmethod
from typing import Any

from tidelog.blocking.registry.answers import Version
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.codecs import Codec
from tidelog.blocking.registry.framing import prefix
from tidelog.blocking.registry.lru import LruDict
from tidelog.clients.schemas.registries import Registry, reaching, registry_client
from tidelog.clients.schemas.subjects import SubjectName, check_strategy, subject_for
from tidelog.clients.serializers import HeaderList, TopicSerializer
from tidelog.registry.schema import Schema

SUBJECTS_MAX = 1000


class SchemaSerializer(TopicSerializer):
    """For any thread: two of them may register a schema at once, and get one id."""

    def __init__(
        self,
        registry: Registry,
        *,
        subject_name: SubjectName,
        auto_register: bool,
        use_latest: bool,
        normalize: bool,
    ) -> None:
        check_strategy(subject_name)
        self._client = registry_client(registry)
        self._subject_name = subject_name
        self._auto_register, self._use_latest, self._normalize = auto_register, use_latest, normalize
        self._known: LruDict[str, tuple[bytes, Codec]] = LruDict(SUBJECTS_MAX)

    def serialize_for(self, topic: str, is_key: bool, value: Any, headers: HeaderList | None = None) -> bytes:
        subject = subject_for(self._subject_name, topic, self.record_name(), is_key)
        known = self._known.get(subject)
        if known is None:
            with reaching():
                known = self._known.put(subject, self._found(subject))
        start, codec = known
        return start + codec.encode(self.plain(value))

    @abstractmethod
    def record_name(self) -> str:
        """The full name of the record; empty where it has none."""

    @abstractmethod
    def own_schema(self, client: RegistryClient, subject: str) -> Schema:
        """What the subject is to have. A schema that it refers to is registered first, or found."""

    @abstractmethod
    def codec(self, schema: Schema, client: RegistryClient, subject: str) -> Codec:
        """Writes values of this schema, which belongs to the subject."""

    @abstractmethod
    def plain(self, value: Any) -> Any:
        """The value as the codec takes it."""

    def _found(self, subject: str) -> tuple[bytes, Codec]:
        client = self._client
        if self._use_latest:
            latest = client.version(subject)
            return prefix(latest.id), self.codec(latest.schema, client, latest.subject)
        schema = self.own_schema(client, subject)
        if self._auto_register:
            schema_id = client.register(subject, schema, normalize=self._normalize)
        else:
            schema_id = known_version(client, subject, schema, normalize=self._normalize).id
        return prefix(schema_id), self.codec(schema, client, subject)


def known_version(
    client: RegistryClient, subject: str, schema: Schema, *, normalize: bool = False
) -> Version:
    """Raises LookupError where the subject does not have the schema."""
    known = client.lookup(subject, schema, normalize=normalize)
    if known is None:
        raise LookupError(
            f"the subject {subject} has no such schema, and auto_register is off; register it first: "
            f"tidelog schema register {subject} FILE"
        )
    return known
