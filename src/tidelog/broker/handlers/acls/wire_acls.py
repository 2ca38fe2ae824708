"""ACLs between the wire and the decisions: numbers that this version does not know become UNKNOWN."""

from enum import IntEnum
from typing import Protocol, TypeVar

from tidelog.base.addresses import address_text
from tidelog.security.acls.acl import Acl, AclFilter
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.wire.messages.create_acls import AclCreation

KindT = TypeVar("KindT", bound=IntEnum)

NO_AUTHORIZER = "No Authorizer is configured."
"""Kafka's own text, which its tools and connectors recognise and skip."""


class FilterMessage(Protocol):
    """What the requests of DescribeAcls and DeleteAcls have in common."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def known_or_unknown(kind: type[KindT], number: int) -> KindT:
    try:
        return kind(number)
    except ValueError:
        return kind(0)


def host_of(given: str) -> str:
    """Hosts are compared as text, so an address must have the form that connections have it in. A denial for
    another form of it would deny nothing."""
    try:
        return address_text(given)
    except ValueError:
        return given  # every host, or a name


def acl_of(given: AclCreation) -> Acl:
    return Acl(
        known_or_unknown(ResourceType, given.resource_type),
        known_or_unknown(PatternType, given.resource_pattern_type),
        given.resource_name,
        given.principal,
        host_of(given.host),
        known_or_unknown(Operation, given.operation),
        known_or_unknown(Permission, given.permission_type),
    )


def filter_of(given: FilterMessage) -> AclFilter:
    return AclFilter(
        known_or_unknown(ResourceType, given.resource_type_filter),
        known_or_unknown(PatternType, given.pattern_type_filter),
        given.resource_name_filter,
        given.principal_filter,
        None if given.host_filter is None else host_of(given.host_filter),
        known_or_unknown(Operation, given.operation),
        known_or_unknown(Permission, given.permission_type),
    )
