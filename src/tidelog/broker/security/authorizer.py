"""May this principal do that? Kafka's order: super users, then ACLs and roles, then the default.

Answers are kept: a request on the hot path costs one dictionary lookup. A change of ACLs or roles begins a
new version, and everything that was kept before is forgotten.
"""

from collections.abc import Iterable

from tidelog.base.config.config import BrokerConfig
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.index import AclIndex, Verdict
from tidelog.security.acls.vocabulary import CLUSTER_NAME, OPERATIONS_ON, Operation, ResourceType
from tidelog.security.principal import BROKER_ITSELF, parse_principal

KEPT_MAX = 50_000
"""Answers; beyond that all are forgotten, so that invented names cannot fill the memory."""

NAME_MAX = 255
"""Characters of a name whose answer is kept: names of topics are no longer, and of groups seldom."""

_WRITE_TO_TOPIC = (Operation.WRITE, ResourceType.TOPIC)
_Question = tuple[str, str, Operation, ResourceType, str | None]
"""Without a name: about any resource of the type."""


class Authorizer:
    def __init__(
        self,
        super_users: Iterable[str] = (),
        *,
        allow_if_no_acl: bool = False,
        written_by_brokers: Iterable[str] = (),
    ) -> None:
        """Only principals that may do CLUSTER_ACTION can write to the topics `written_by_brokers`."""
        self._super_users = frozenset((*super_users, BROKER_ITSELF))
        self._allow_if_no_acl = allow_if_no_acl
        self._written_by_brokers = frozenset(written_by_brokers)
        self._security = SecurityImage()
        self._index = AclIndex()
        self._kept: dict[_Question, bool] = {}
        self.version = 0
        """Grows with every change of what is allowed."""

    def follow(self, image: ClusterImage) -> None:
        """The metadata have changed, perhaps also what is allowed."""
        before, after = self._security, image.security
        if before is after:
            return
        self._security = after
        gone, new = _difference(before, after)
        for acl in gone:
            self._index.remove(acl)
        for acl in new:
            self._index.add(acl)
        if gone or new:
            self._forget()

    def allows(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> bool:
        question = (principal, host, operation, resource_type, name)
        known = self._kept.get(question)
        if known is None:
            if (operation, resource_type) == _WRITE_TO_TOPIC and name in self._written_by_brokers:
                known = self.allows_on_cluster(principal, host, Operation.CLUSTER_ACTION)
            else:
                verdict = self._index.decide(principal, host, operation, resource_type, name)
                known = self._is_allowed(principal, verdict)
            if len(name) <= NAME_MAX:
                self._keep(question, known)
        return known

    def allows_on_cluster(self, principal: str, host: str, operation: Operation) -> bool:
        return self.allows(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows_on_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """On at least one resource of the type, existing or not."""
        question = (principal, host, operation, resource_type, None)
        known = self._kept.get(question)
        if known is None:
            # It looks at all ACLs, which are many, and each new producer asks.
            verdict = self._index.decide_any(principal, host, operation, resource_type)
            known = self._keep(question, self._is_allowed(principal, verdict))
        return known

    def allowed_operations(self, principal: str, host: str, resource_type: ResourceType, name: str) -> int:
        """As Describe answers carry it: a bit for each operation, counted from its number."""
        return sum(
            1 << operation
            for operation in OPERATIONS_ON[resource_type]
            if self.allows(principal, host, operation, resource_type, name)
        )

    def _is_allowed(self, principal: str, verdict: Verdict) -> bool:
        if principal in self._super_users:
            return True
        return verdict is Verdict.ALLOWED or (verdict is Verdict.NO_ACL and self._allow_if_no_acl)

    def _keep(self, question: _Question, answer: bool) -> bool:
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        self._kept[question] = answer
        return answer

    def _forget(self) -> None:
        self._kept.clear()
        self.version += 1


def authorizer_of(config: BrokerConfig) -> Authorizer | None:
    """None where every client may do everything."""
    if not config.text("authorizer.class.name"):
        return None
    return Authorizer(
        super_users_of(config.text("super.users")),
        allow_if_no_acl=config.bool("allow.everyone.if.no.acl.found"),
        written_by_brokers=filter(None, [config.optional_text("audit.topic")]),
    )


def super_users_of(text: str) -> list[str]:
    """`super.users` as Kafka writes it: principals with semicolons between. KafkaError for what is none."""
    given = [item.strip() for item in text.split(";")]
    return [str(parse_principal(item)) for item in given if item]


def _difference(before: SecurityImage, after: SecurityImage) -> tuple[list[Acl], list[Acl]]:
    """ACLs to take out of the index and to put in: those of roles count once for each role."""
    gone = list(before.acls - after.acls)
    new = list(after.acls - before.acls)
    for name in before.roles.keys() | after.roles.keys():
        was, now = before.roles.get(name), after.roles.get(name)
        if was != now:
            gone += was.acls() if was else ()
            new += now.acls() if now else ()
    return gone, new
