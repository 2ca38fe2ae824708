"""Decisions on ACLs: Kafka's rules, each in an example, and the index against a plain loop over all ACLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.security.acls.acl import Acl, AclFilter
from tidelog.security.acls.index import AclIndex, Verdict
from tidelog.security.acls.vocabulary import ALLOWED_BY, Operation, PatternType, Permission, ResourceType

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED, MATCH = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH
READ, WRITE, DESCRIBE, ALL = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL
ALLOW, DENY = Permission.ALLOW, Permission.DENY
ALLOWED, DENIED, NO_ACL = Verdict.ALLOWED, Verdict.DENIED, Verdict.NO_ACL


def acl(
    name="orders", operation=READ, permission=ALLOW, *, pattern=LITERAL, principal="User:alice", host="*"
):
    return Acl(TOPIC, pattern, name, principal, host, operation, permission)


def decide(acls, operation=READ, name="orders", principal="User:alice", host="192.0.2.1"):
    return AclIndex(acls).decide(principal, host, operation, TOPIC, name)


@pytest.mark.parametrize(
    ("acls", "verdict"),
    [
        ([], NO_ACL),
        ([acl()], ALLOWED),
        ([acl(name="other")], NO_ACL),
        ([acl(principal="User:bob")], DENIED),
        ([acl(principal="User:*")], ALLOWED),
        ([acl(principal="Group:alice")], DENIED),
        ([acl(host="192.0.2.1")], ALLOWED),
        ([acl(host="192.0.2.9")], DENIED),
        ([acl(operation=ALL)], ALLOWED),
        ([acl(operation=WRITE)], DENIED),
        ([acl("*")], ALLOWED),
        ([acl("ord", pattern=PREFIXED)], ALLOWED),
        ([acl("orders", pattern=PREFIXED)], ALLOWED),
        ([acl("orders-", pattern=PREFIXED)], NO_ACL),
        ([acl("*", pattern=PREFIXED)], NO_ACL),
        ([acl(), acl(permission=DENY)], DENIED),
        ([acl(permission=DENY), acl()], DENIED),
        ([acl(), acl("o", permission=DENY, pattern=PREFIXED)], DENIED),
        ([acl(), acl("*", ALL, DENY, principal="User:*")], DENIED),
        ([acl(), acl(permission=DENY, host="192.0.2.9")], ALLOWED),
        ([acl(), acl(operation=DESCRIBE, permission=DENY)], ALLOWED),
    ],
)
def test_reading_orders(acls, verdict) -> None:
    assert decide(acls) is verdict


@pytest.mark.parametrize("operation", [READ, WRITE, Operation.DELETE, Operation.ALTER, ALL])
def test_permissions_that_include_describe(operation) -> None:
    assert decide([acl(operation=operation)], DESCRIBE) is ALLOWED
    assert decide([acl(operation=DESCRIBE), acl(operation=operation, permission=DENY)], DESCRIBE) is (
        DENIED if operation is ALL else ALLOWED
    )


def test_alter_configs_includes_describe_configs() -> None:
    assert decide([acl(operation=Operation.ALTER_CONFIGS)], Operation.DESCRIBE_CONFIGS) is ALLOWED


def test_describe_does_not_include_read() -> None:
    assert decide([acl(operation=DESCRIBE)]) is DENIED


def test_a_name_that_is_a_star_is_only_a_name() -> None:
    assert decide([acl("*")], name="*") is ALLOWED
    assert decide([acl("orders")], name="*") is NO_ACL


def test_equal_acls_count_each() -> None:
    index = AclIndex([acl(), acl()])
    assert len(index) == 1
    index.remove(acl())
    assert index.decide("User:alice", "h", READ, TOPIC, "orders") is ALLOWED
    index.remove(acl())
    assert index.decide("User:alice", "h", READ, TOPIC, "orders") is NO_ACL


@pytest.mark.parametrize(
    ("acls", "verdict"),
    [
        ([], NO_ACL),
        ([acl("a", WRITE)], ALLOWED),
        ([acl("a", WRITE), acl("a", WRITE, DENY)], NO_ACL),
        ([acl("a", WRITE), acl("b", WRITE, DENY)], ALLOWED),
        ([acl("abc", WRITE), acl("ab", ALL, DENY, pattern=PREFIXED)], NO_ACL),
        ([acl("a", WRITE, pattern=PREFIXED), acl("ab", WRITE, DENY, pattern=PREFIXED)], ALLOWED),
        ([acl("ab", WRITE, pattern=PREFIXED), acl("a", WRITE, DENY, pattern=PREFIXED)], NO_ACL),
        ([acl("*", WRITE), acl("a", WRITE, DENY, pattern=PREFIXED)], ALLOWED),
        ([acl("*", WRITE), acl("*", WRITE, DENY)], DENIED),
        ([acl("a", WRITE), acl("*", WRITE, DENY, principal="User:bob")], ALLOWED),
        ([acl("*", READ)], DENIED),
        # There are topics that no ACL names.
        ([acl("a", READ)], NO_ACL),
        ([acl("a", WRITE, DENY), acl("b", WRITE, principal="User:bob")], NO_ACL),
    ],
)
def test_writing_to_any_topic(acls, verdict) -> None:
    assert AclIndex(acls).decide_any("User:alice", "h", WRITE, TOPIC) is verdict


@pytest.mark.parametrize(
    ("chosen", "selected"),
    [
        (AclFilter(), True),
        (AclFilter(resource_type=GROUP), False),
        (AclFilter(resource_name="orders"), False),
        (AclFilter(resource_name="ord"), True),
        (AclFilter(pattern_type=LITERAL), False),
        (AclFilter(pattern_type=PREFIXED), True),
        (AclFilter(pattern_type=MATCH, resource_name="orders"), True),
        (AclFilter(pattern_type=MATCH, resource_name="or"), False),
        (AclFilter(pattern_type=MATCH), True),
        (AclFilter(principal="User:alice", host="*", operation=READ, permission=ALLOW), True),
        (AclFilter(principal="User:*"), False),
        (AclFilter(operation=ALL), False),
        (AclFilter(permission=DENY), False),
    ],
)
def test_filters(chosen, selected) -> None:
    given = [acl("ord", pattern=PREFIXED)]
    assert chosen.select(given) == (given if selected else [])


def test_a_filter_selects_among_many() -> None:
    many = [acl(f"t-{number}", READ, principal=f"User:{number % 10}") for number in range(100)]
    chosen = AclFilter(TOPIC, MATCH, "t-33", "User:3", "*", READ, ALLOW)
    assert chosen.select(many) == [many[33]]
    assert AclFilter(principal="User:3").select(many) == many[3::10]


names = st.sampled_from(["a", "ab", "abc", "b", "*"])
acls = st.builds(
    Acl,
    st.sampled_from([TOPIC, GROUP]),
    st.sampled_from([LITERAL, PREFIXED]),
    names,
    st.sampled_from(["User:x", "User:y", "User:*"]),
    st.sampled_from(["h", "*"]),
    st.sampled_from([READ, WRITE, DESCRIBE, ALL]),
    st.sampled_from([ALLOW, DENY]),
)


@given(
    st.lists(acls, max_size=12),
    st.lists(st.integers(0, 11), max_size=6),
    names,
    st.sampled_from([READ, DESCRIBE]),
)
def test_the_index_decides_as_a_loop_over_all_would(given_acls, removed, name, operation) -> None:
    index, kept = AclIndex(given_acls), list(given_acls)
    for position in removed:
        if position < len(kept):
            index.remove(kept.pop(position))
    covering = [each for each in kept if each.resource_type is TOPIC and each.covers(name)]
    applying = [
        each
        for each in covering
        if each.principal in ("User:x", "User:*")
        and each.host in ("h", "*")
        and each.operation in (ALLOWED_BY[operation] if each.permission is ALLOW else {operation, ALL})
    ]
    if any(each.permission is DENY for each in applying):
        expected = DENIED
    elif applying:
        expected = ALLOWED
    else:
        expected = DENIED if covering else NO_ACL
    assert index.decide("User:x", "h", operation, TOPIC, name) is expected
