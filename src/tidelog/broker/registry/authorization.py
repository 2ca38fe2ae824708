"""Which principal may do what with which subject: the only place that decides it (ADR 0031).

A subject `orders-key` or `orders-value` is authorized as the topic `orders`, any other subject as a topic of
its own name. A context stays part of the name: `:.staging:orders-value` is `:.staging:orders`, so that a
prefix covers a whole context, and permissions on a real topic never reach into another context.
"""

from typing import TYPE_CHECKING, Protocol

from tidelog.broker.registry.calls import Call
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.security.audit.event import Actor

if TYPE_CHECKING:
    from tidelog.broker.security.audit.audit import Audit
    from tidelog.broker.security.authorizer import Authorizer

API = "SchemaRegistry"
"""In the audit record, in place of the name of a Kafka API; and in place of a listener."""

READ = Operation.DESCRIBE
REGISTER = Operation.WRITE
DELETE = Operation.DELETE
CONFIGURE = Operation.ALTER_CONFIGS
"""Settings and modes; of all subjects together they are asked of the cluster."""


class Security(Protocol):
    """The parts of a broker that are asked; `Services` has them."""

    @property
    def authorizer(self) -> "Authorizer | None": ...
    @property
    def audit(self) -> "Audit | None": ...
    @property
    def denials(self) -> dict[tuple[Operation, ResourceType], int]: ...


class Authorization:
    def __init__(self, security: Security) -> None:
        self._security = security

    def check(self, call: Call, operation: Operation, subject: str) -> None:
        """Raises RegistryError where the call's principal lacks the permission on the subject."""
        topic = topic_of(subject)
        if not self._is_allowed(call, operation, ResourceType.TOPIC, topic):
            self._note_denial(call, operation, ResourceType.TOPIC, topic)
            raise RegistryError(
                RegistryCode.FORBIDDEN,
                f"{call.principal} is denied operation {_shown(operation)} on Subject: {subject}. "
                f"It needs {operation.name} on the topic {topic}; an administrator can allow that.",
            )

    def check_all(self, call: Call, operation: Operation) -> None:
        """As `check`, for what concerns all subjects."""
        if not self._is_allowed(call, operation, ResourceType.CLUSTER, CLUSTER_NAME):
            self._note_denial(call, operation, ResourceType.CLUSTER, CLUSTER_NAME)
            raise RegistryError(
                RegistryCode.FORBIDDEN,
                f"{call.principal} is denied operation {_shown(operation)} on all subjects. "
                f"It needs {operation.name} on the cluster; an administrator can allow that.",
            )

    def sees(self, call: Call, subject: str) -> bool:
        """Whether a list may name the subject. Unlike a refusal, a name that is left out is no event."""
        return self._is_allowed(call, READ, ResourceType.TOPIC, topic_of(subject))

    def _is_allowed(self, call: Call, operation: Operation, kind: ResourceType, name: str) -> bool:
        authorizer = self._security.authorizer
        return authorizer is None or authorizer.allows(call.principal, call.host, operation, kind, name)

    def _note_denial(self, call: Call, operation: Operation, kind: ResourceType, name: str) -> None:
        denials, audit = self._security.denials, self._security.audit
        denials[operation, kind] = denials.get((operation, kind), 0) + 1
        if audit is not None:
            audit.denied(actor_of(call), API, operation, kind, name)


def topic_of(subject: str) -> str:
    """Returns the topic whose permissions count for the subject."""
    for ending in ("-key", "-value"):
        if subject.endswith(ending) and len(subject) > len(ending):
            return subject.removesuffix(ending)
    return subject


def actor_of(call: Call) -> Actor:
    """Returns the client, as the audit record names it."""
    return Actor(call.principal, call.host, API)


def _shown(operation: Operation) -> str:
    """As Confluent writes them: Write, AlterConfigs."""
    return operation.name.title().replace("_", "")
