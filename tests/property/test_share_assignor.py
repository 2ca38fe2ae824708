"""The assignor of share groups: every partition has a member, loads are balanced, and little moves."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.groups.share.assignor import Reader, assign

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))
NAMES = [f"w{number}" for number in range(9)]


@st.composite
def groups(draw):
    """Partitions, and members of which some have had other partitions, also of topics that are gone."""
    counts = draw(st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 6)))
    partitions = {topic: frozenset(range(count)) for topic, count in counts.items()}
    names = draw(st.sets(st.sampled_from(NAMES)))
    same = draw(st.booleans())
    topics = st.frozensets(st.sampled_from([A, B, C]), min_size=1)
    read_by_all = draw(topics)
    places = st.dictionaries(
        st.sampled_from([A, B, C, b"\x09" * 16]), st.frozensets(st.integers(0, 7), min_size=1)
    )
    readers = {name: Reader(read_by_all if same else draw(topics), draw(places)) for name in sorted(names)}
    return partitions, readers


def loads(targets, topics):
    return [sum(len(target.get(topic, ())) for topic in topics) for target in targets]


@given(groups())
def test_every_partition_has_a_member_and_no_member_idles(group):
    partitions, readers = group
    targets = assign(partitions, readers)
    assert targets.keys() == readers.keys()
    for name, target in targets.items():
        assert target.keys() <= readers[name].topics
        assert all(numbers and numbers <= partitions[topic] for topic, numbers in target.items())
    for topic, numbers in partitions.items():
        readers_of = [name for name, reader in readers.items() if topic in reader.topics]
        given_out = frozenset().union(*(targets[name].get(topic, frozenset()) for name in readers_of))
        assert given_out == (numbers if readers_of else frozenset())
        if numbers and len(readers_of) == len(readers):
            assert all(targets.values())


@given(groups())
def test_loads_differ_by_at_most_one(group):
    partitions, readers = group
    targets = assign(partitions, readers)
    subscriptions = {reader.topics for reader in readers.values()}
    # All topics together where everybody reads the same, else each topic by itself.
    for topics in subscriptions if len(subscriptions) == 1 else [{topic} for topic in partitions]:
        mine = [targets[name] for name, reader in readers.items() if topics <= reader.topics]
        if mine:
            assert max(loads(mine, topics)) - min(loads(mine, topics)) <= 1
            count = sum(len(partitions.get(topic, ())) for topic in topics)
            sharing = -(-len(mine) // count) if count else 0
            for topic in topics:
                for number in partitions.get(topic, ()):
                    assert sum(number in target.get(topic, ()) for target in mine) <= sharing


@given(groups())
def test_nothing_moves_without_a_reason(group):
    partitions, readers = group
    targets = assign(partitions, readers)
    settled = {name: reader._replace(target=targets[name]) for name, reader in readers.items()}
    assert assign(partitions, settled) == targets


@given(st.integers(1, 12), st.integers(1, 12))
def test_a_member_that_comes_takes_only_its_share(partition_count, member_count):
    partitions = {A: frozenset(range(partition_count))}
    readers = {f"m{number:02}": Reader(frozenset({A})) for number in range(member_count)}
    before = assign(partitions, readers)
    with_targets = {name: Reader(frozenset({A}), target) for name, target in before.items()}
    after = assign(partitions, with_targets | {"new": Reader(frozenset({A}))})
    if partition_count > member_count:
        moved = sum(len(before[name].get(A, ()) - after[name].get(A, ())) for name in before)
        assert moved == len(after["new"][A])
    for name, target in before.items():
        assert len(after[name][A] - target[A]) <= 1


class Target(dict):
    """An assignment of which only single topics are read."""

    def items(self):
        raise AssertionError("a look at each topic for each topic")

    __iter__ = items


def test_a_topic_costs_a_look_at_that_topic():
    """Where subscriptions differ. (With 1,000 topics and 200 members, all of all took a minute.)"""
    topics = [bytes([number]) * 16 for number in range(1, 100)]
    readers = {
        f"m{number}": Reader(frozenset(topics[number:]), Target({topic: frozenset({0}) for topic in topics}))
        for number in range(3)
    }
    targets = assign({topic: frozenset({0}) for topic in topics}, readers)
    assert {name: len(target) for name, target in targets.items()} == {"m0": 99, "m1": 98, "m2": 97}
