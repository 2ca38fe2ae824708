"""May a principal do it, and by which rule."""

import pytest

from tidelog.cli.acl.explanation import Defaults, Question, explain, rules_of
from tidelog.metadata.image.security import Grant, Role
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

TOPIC, READ, WRITE = ResourceType.TOPIC, Operation.READ, Operation.WRITE
ANALYST = Role("analyst", (Grant(TOPIC, PatternType.PREFIXED, "orders.", (READ,)),), ("User:reports",))
DENY_SECRET = Acl(
    TOPIC, PatternType.LITERAL, "orders.secret", "User:*", "192.0.2.7", Operation.ALL, Permission.DENY
)
UNREAD = Defaults()
RULES = rules_of([DENY_SECRET], [ANALYST])


def ask(operation=READ, name="orders.eu", principal="User:reports", host="", defaults=UNREAD):
    return explain(Question(principal, operation, TOPIC, name, host), RULES, defaults)


def test_a_role_allows_it() -> None:
    said = ask()
    assert said.is_allowed
    assert [rule.role for rule in said.rules] == ["analyst"]


def test_describe_comes_with_read() -> None:
    assert ask(Operation.DESCRIBE).is_allowed


def test_a_denial_beats_it_where_it_applies() -> None:
    assert ask(name="orders.secret").is_allowed, "from another host"
    said = ask(name="orders.secret", host="192.0.2.7")
    assert not said.is_allowed
    assert [rule.acl for rule in said.rules] == [DENY_SECRET]


@pytest.mark.parametrize("question", [{"operation": WRITE}, {"name": "orders"}, {"principal": "User:other"}])
def test_no_rule_allows_it(question) -> None:
    said = ask(**question)
    assert not said.is_allowed
    assert not said.rules


def test_settings_of_the_brokers() -> None:
    assert ask(WRITE, defaults=Defaults(super_users=frozenset({"User:reports"}))).is_allowed
    open_if_none = Defaults(allow_if_no_acl=True)
    assert ask(WRITE, name="no-rule-names-it", defaults=open_if_none).is_allowed
    assert not ask(WRITE, defaults=open_if_none).is_allowed, "a rule of another operation names it"
