"""The assignors against their promises: everything assigned once, evenly, and with few moves."""

from collections import Counter
from itertools import chain, product

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.groups.consumer.assignors import ranges, uniform
from tidelog.groups.consumer.assignors.assignor import MemberSpec

TOPICS = [bytes([number]) * 16 for number in range(4)]


def loads(targets):
    return sorted(sum(map(len, target.values())) for target in targets.values())


def pairs(targets):
    return [
        (topic, partition, member_id)
        for member_id, target in targets.items()
        for topic, partitions in target.items()
        for partition in partitions
    ]


def with_targets(members, targets):
    return {one: spec._replace(target=targets.get(one, {})) for one, spec in members.items()}


def moved(before, after):
    """Partitions whose owner is another one now, of those that had one that is still there."""
    owner = {(topic, partition): member for topic, partition, member in pairs(before) if member in after}
    return sum(owner.get((topic, number), member) != member for topic, number, member in pairs(after))


@st.composite
def groups(draw, *, alike=None, topics_max=4, partitions_max=9, members_max=7):
    topics = draw(st.dictionaries(st.sampled_from(TOPICS[:topics_max]), st.integers(1, partitions_max)))
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=members_max))
    alike = draw(st.booleans()) if alike is None else alike
    subscription = st.just(frozenset(topics)) if alike else st.frozensets(st.sampled_from([*topics] or [b""]))
    members = {name: MemberSpec(draw(subscription).intersection(topics)) for name in names}
    read = frozenset().union(*(member.topics for member in members.values()))
    return {topic: count for topic, count in topics.items() if topic in read}, members


def check_complete(topics, members, targets):
    assert targets.keys() == members.keys()
    owners = Counter((topic, partition) for topic, partition, _ in pairs(targets))
    assert owners == Counter((topic, number) for topic, count in topics.items() for number in range(count))
    assert all(target.keys() <= members[one].topics for one, target in targets.items())
    assert all(all(target.values()) for target in targets.values())


@settings(max_examples=150)
@given(groups(), groups())
def test_uniform_assigns_every_partition_once_whatever_was_before(before, now):
    previous = uniform.assign(*before)
    topics, members = now
    targets = uniform.assign(topics, with_targets(members, previous))
    check_complete(topics, members, targets)
    assert uniform.assign(topics, with_targets(members, targets)) == targets


@settings(max_examples=100)
@given(groups(alike=True), groups(alike=True))
def test_members_that_read_the_same_differ_by_one_and_keep_all_they_may(before, now):
    previous = uniform.assign(*before)
    topics, members = now
    targets = uniform.assign(topics, with_targets(members, previous))
    counts = loads(targets)
    assert counts[-1] - counts[0] <= 1
    share, extras = divmod(sum(topics.values()), len(members))
    valid = {
        one: sum(len([n for n in numbers if n < topics.get(topic, 0)]) for topic, numbers in target.items())
        for one, target in previous.items()
        if one in members
    }
    # Nobody could keep more: each up to the share, and as many as there are extras one more.
    most = sum(min(had, share) for had in valid.values()) + min(
        extras, sum(had > share for had in valid.values())
    )
    kept = sum(
        len(target.get(topic, frozenset()) & previous.get(one, {}).get(topic, frozenset()))
        for one, target in targets.items()
        for topic in target
    )
    assert kept == most


@settings(max_examples=60)
@given(groups(alike=False, topics_max=3, partitions_max=2, members_max=3))
def test_uneven_subscriptions_are_as_even_as_trying_everything(group):
    topics, members = group
    places = [(topic, number) for topic, count in topics.items() for number in range(count)]
    readers = [[one for one in members if topic in members[one].topics] for topic, _ in places]
    squares = [sum(count * count for count in Counter(choice).values()) for choice in product(*readers)]
    targets = uniform.assign(topics, members)
    assert sum(count * count for count in loads(targets)) == min(squares)


@settings(max_examples=60)
@given(groups(alike=False))
def test_a_newcomer_moves_no_more_than_it_gets(group):
    topics, members = group
    targets = uniform.assign(topics, members)
    everything = {**with_targets(members, targets), "new": MemberSpec(frozenset(topics))}
    after = uniform.assign(topics, everything)
    check_complete(topics, everything, after)
    gained = sum(map(len, after["new"].values()))
    # It can read all, so that nobody needs to hand on through a third: each move ends with it.
    assert moved(targets, after) == gained


@settings(max_examples=60)
@given(groups())
def test_one_who_leaves_moves_nothing_but_its_own(group):
    topics, members = group
    if len(members) < 2 or len({spec.topics for spec in members.values()}) > 1:
        return
    targets = uniform.assign(topics, members)
    gone = min(members)
    rest = {one: spec for one, spec in with_targets(members, targets).items() if one != gone}
    assert moved(targets, uniform.assign(topics, rest)) == 0


@settings(max_examples=100)
@given(groups())
def test_range_gives_contiguous_ranges_in_the_order_of_the_members(group):
    topics, members = group
    targets = ranges.assign(topics, members)
    check_complete(topics, members, targets)
    for topic in topics:
        cut = [sorted(targets[one][topic]) for one in sorted(members) if topic in targets[one]]
        assert list(chain.from_iterable(cut)) == list(range(topics[topic]))
        assert max(map(len, cut)) - min(map(len, cut)) <= 1


@given(st.integers(1, 12), st.integers(1, 5))
def test_range_cuts_topics_of_one_size_alike(partitions, count):
    topics = dict.fromkeys(TOPICS, partitions)
    members = {f"m{number}": MemberSpec(frozenset(topics)) for number in range(count)}
    for target in ranges.assign(topics, members).values():
        assert len(set(target.values())) <= 1
        assert not target or target.keys() == topics.keys()


def test_range_places_static_members_first_by_their_instance():
    topics = {TOPICS[0]: 3}
    both = frozenset(topics)
    members = {
        "a": MemberSpec(both),
        "z": MemberSpec(both, instance_id="i2"),
        "y": MemberSpec(both, instance_id="i3"),
    }
    targets = ranges.assign(topics, members)
    assert [sorted(targets[one][TOPICS[0]]) for one in ("z", "y", "a")] == [[0], [1], [2]]


def test_a_chain_of_hand_overs_is_found_where_no_single_move_helps():
    first, second = TOPICS[:2]
    members = {
        "a": MemberSpec(frozenset({first}), {first: frozenset({0, 1, 2})}),
        "b": MemberSpec(frozenset({first, second}), {second: frozenset({0, 1})}),
        "c": MemberSpec(frozenset({second})),
    }
    assert loads(uniform.assign({first: 3, second: 2}, members)) == [1, 2, 2]
