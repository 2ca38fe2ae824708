"""One step of a member towards its target, as a table."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.consumer.reconciliation import Target, is_within, reconcile
from tidelog.groups.record_formats.holding import Holding, MemberState

T = b"t" * 16
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def parts(*numbers):
    return {T: frozenset(numbers)} if numbers else {}


def held(*numbers):
    return {(T, number) for number in numbers}


@pytest.mark.parametrize(
    ("before", "target", "taken", "owned", "after"),
    [
        # The epoch is the target's already.
        (Holding(5, 4, STABLE, parts(1)), parts(1), held(1), None, Holding(5, 4, STABLE, parts(1))),
        # It is, and the member reads a topic no more, before the next target.
        (
            Holding(5, 4, STABLE, parts(1, 2)),
            parts(1),
            held(1, 2),
            None,
            Holding(5, 4, UNREVOKED, parts(1), parts(2)),
        ),
        (
            Holding(5, 4, UNREVOKED, parts(1), parts(2)),
            parts(1),
            held(1, 2),
            {},
            Holding(5, 4, STABLE, parts(1)),
        ),
        # Another one while it lets go of the first.
        (
            Holding(5, 4, UNREVOKED, parts(1), parts(2)),
            {},
            held(1, 2),
            parts(1),
            Holding(5, 4, UNREVOKED, {}, parts(1)),
        ),
        # New partitions, all free.
        (Holding(), parts(1, 2), held(), {}, Holding(5, 0, STABLE, parts(1, 2))),
        # One of two is with somebody else.
        (Holding(), parts(1, 2), held(2), {}, Holding(5, 0, UNRELEASED, parts(1))),
        # All are.
        (Holding(4, 3), parts(2), held(2), None, Holding(5, 4, UNRELEASED)),
        # Something is taken away, and the member does not say what it has.
        (
            Holding(4, 3, STABLE, parts(1, 2)),
            parts(1),
            held(1, 2),
            None,
            Holding(4, 3, UNREVOKED, parts(1), parts(2)),
        ),
        # It is given nothing new before it let go.
        (
            Holding(4, 3, STABLE, parts(1)),
            parts(2),
            held(1),
            parts(1),
            Holding(4, 3, UNREVOKED, {}, parts(1)),
        ),
        # It says that it let go already.
        (Holding(4, 3, STABLE, parts(1, 2)), parts(1), held(1, 2), parts(1), Holding(5, 4, STABLE, parts(1))),
        # It still has what it should let go.
        (
            Holding(4, 3, UNREVOKED, parts(1), parts(2)),
            parts(1),
            held(1, 2),
            parts(1, 2),
            Holding(4, 3, UNREVOKED, parts(1), parts(2)),
        ),
        # It let go.
        (
            Holding(4, 3, UNREVOKED, parts(1), parts(2)),
            parts(1, 3),
            held(1, 2),
            parts(1),
            Holding(5, 4, STABLE, parts(1, 3)),
        ),
        # It let go, and a newer target takes more.
        (
            Holding(2, 1, UNREVOKED, parts(1, 3), parts(2)),
            parts(1),
            held(1, 2, 3),
            parts(1, 3),
            Holding(3, 2, UNREVOKED, parts(1), parts(3)),
        ),
        # What it waits for came free, or not.
        (Holding(5, 4, UNRELEASED), parts(2), held(), {}, Holding(5, 4, STABLE, parts(2))),
        (Holding(5, 4, UNRELEASED), parts(2), held(2), {}, Holding(5, 4, UNRELEASED)),
        # A state of a later version starts over with nothing.
        (Holding(4, 3, MemberState.UNKNOWN), parts(2), held(), {}, Holding(5, 4, STABLE, parts(2))),
    ],
)
def test_steps(before, target, taken, owned, after):
    assert reconcile(before, Target(5, target, taken), owned) == after


@pytest.mark.parametrize("owned", [None, parts(1)])
def test_a_state_of_a_later_version_is_fenced_while_the_member_owns_something(owned):
    with pytest.raises(KafkaError) as refused:
        reconcile(Holding(4, 3, MemberState.UNKNOWN, parts(1)), Target(5, parts(1), held(1)), owned)
    assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH


def test_within():
    assert is_within({}, {})
    assert is_within(parts(1), parts(1, 2))
    assert not is_within(parts(1, 3), parts(1, 2))
    assert not is_within({b"u" * 16: frozenset({1})}, parts(1))
