"""Each check of `tidelog doctor`, on facts made by hand: what it finds, and how bad that is."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

from tidelog.base.ids import ZERO_UUID
from tidelog.cli.cluster.features import FeaturesView
from tidelog.cli.cluster.health import Report
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.quorum import Member, Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, Partition
from tidelog.cli.doctor.checks.brokers import check_brokers, check_open_files, check_versions
from tidelog.cli.doctor.checks.clocks import check_clocks
from tidelog.cli.doctor.checks.disks import check_disks
from tidelog.cli.doctor.checks.facts import BrokerState, Damaged, DoctorFacts
from tidelog.cli.doctor.checks.groups import check_groups
from tidelog.cli.doctor.checks.partitions import check_leaders, check_partitions
from tidelog.cli.doctor.checks.queues import check_queues
from tidelog.cli.doctor.checks.quorum import check_quorum
from tidelog.cli.doctor.checks.registry import check_registry
from tidelog.cli.doctor.checks.settings import check_broker_settings, check_topic_settings
from tidelog.cli.doctor.checks.transactions import check_transactions
from tidelog.cli.doctor.command import CHECKS, EXIT_CODES, findings
from tidelog.cli.findings import CheckFinding, Severity, worst
from tidelog.cli.group.lag import GroupInfo, GroupStanding, PartitionLag
from tidelog.cli.queue.standing import Member as QueueMember
from tidelog.cli.queue.standing import Queue, QueuePartition
from tidelog.cli.transactions.producer_states import ProducerState
from tidelog.cli.transactions.suspects import Suspect, Why
from tidelog.clients.records import TopicPartition

GB = 1 << 30
Check = Callable[[DoctorFacts], Iterable[CheckFinding]]


def part(index: int = 0, leader: int | None = 1, in_sync: tuple[int, ...] = (1, 2, 3)) -> Partition:
    return Partition(TopicPartition("t", index), leader, (1, 2, 3), in_sync, ())


def quorum(*ends: int, leader: int | None = 1) -> Quorum:
    members = [Member(id, True, ZERO_UUID, end, None, None, ()) for id, end in enumerate(ends, 1)]
    return Quorum(leader, 7, max(ends), tuple(members))


def facts(
    partitions: Iterable[Partition] = (),
    *,
    fenced: tuple[int, ...] = (),
    brokers: int = 3,
    metadata: Quorum | None = None,
    min_in_sync: Mapping[str, int] | None = None,
    has_quorum: bool = True,
) -> DoctorFacts:
    named = {id: Broker(id, "h", 9092, fenced=id in fenced) for id in range(1, brokers + 1)}
    view = ClusterView("c", 1, named, {one.place: one for one in partitions})
    seen = (metadata or quorum(*[5] * brokers)) if has_quorum else None
    report = Report(view, seen, [], min_in_sync or {})
    return DoctorFacts(report, FeaturesView({}, {}, ()))


def states(*given: BrokerState) -> DoctorFacts:
    return replace(facts(), states={state.id: state for state in given})


def found(check: Check, seen: DoctorFacts) -> list[tuple[str, Severity]]:
    result = list(check(seen))
    for one in result:
        assert one.why.endswith(".")
        assert one.mend
        assert not one.what.endswith(".")
    return [(one.code, one.severity) for one in result]


def test_a_healthy_cluster_has_no_findings() -> None:
    seen = replace(
        facts([part(index, leader=index % 3 + 1) for index in range(3)]),
        states={
            id: BrokerState(id, "1.0", 3.0, 1.0, open_files=50, open_files_max=100_000) for id in (1, 2, 3)
        },
        stored={1: Stored(total_bytes=100 * GB, free_bytes=50 * GB, log_dirs=1)},
        topic_settings={"t": {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}},
        broker_settings={1: {"default.replication.factor": "3", "durability": "os"}},
    )
    seen_without_move = replace(
        seen, report=replace(seen.report, view=replace(seen.report.view, partitions={part().place: part()}))
    )
    assert list(findings(seen_without_move)) == []


def test_the_exit_code_is_that_of_the_worst_finding() -> None:
    made = [CheckFinding("c", severity, "w", "x", "y.", "z") for severity in Severity]
    assert [EXIT_CODES[worst(made[:count])] for count in range(4)] == [0, 0, 1, 2]


def test_every_check_is_in_the_list() -> None:
    assert len(CHECKS) == 14


@pytest.mark.parametrize(
    ("free", "expected"),
    [(50, []), (10, [("disk-nearly-full", Severity.MEDIUM)]), (3, [("disk-nearly-full", Severity.SERIOUS)])],
)
def test_disks_that_fill_up(free: int, expected: object) -> None:
    seen = replace(facts(), stored={2: Stored(total_bytes=100 * GB, free_bytes=free * GB, log_dirs=1)})
    assert found(check_disks, seen) == expected


def test_a_failed_log_dir() -> None:
    seen = replace(facts(), stored={2: Stored(log_dirs=2, failed_log_dirs=1)})
    assert found(check_disks, seen) == [("log-dir-failed", Severity.SERIOUS)]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (facts([part()]), []),
        (facts([part(leader=None, in_sync=())]), [("partitions-offline", Severity.SERIOUS)]),
        (facts([part(in_sync=(1,))], min_in_sync={"t": 2}), [("below-min-in-sync", Severity.SERIOUS)]),
        (facts([part(in_sync=(1, 2))], min_in_sync={"t": 2}), [("replicas-lag", Severity.MEDIUM)]),
    ],
)
def test_partitions(seen: DoctorFacts, expected: object) -> None:
    assert found(check_partitions, seen) == expected


def test_the_broker_that_lags_is_named() -> None:
    [finding] = check_partitions(facts([part(in_sync=(1, 2))]))
    assert "broker 3 with 1" in finding.what


def test_uneven_leaders() -> None:
    uneven = facts([part(index, leader=1) for index in range(18)])
    assert found(check_leaders, uneven) == [("leaders-uneven", Severity.MEDIUM)]
    assert found(check_leaders, facts([part(0), part(1)])) == []
    assert found(check_leaders, facts([part(0, leader=2)])) == [("not-preferred-leaders", Severity.LOW)]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (BrokerState(1), []),
        (BrokerState(1, ready=False, reasons=("it starts",)), [("broker-not-ready", Severity.MEDIUM)]),
        (
            BrokerState(1, damaged=(Damaged("t", 0, "lost"),), damaged_total=1),
            [("logs-damaged", Severity.SERIOUS)],
        ),
        (BrokerState(1, recovered_logs=4), [("unclean-stop", Severity.LOW)]),
    ],
)
def test_a_broker_speaks_of_itself(state: BrokerState, expected: object) -> None:
    assert found(check_brokers, states(state)) == expected


def test_a_broker_that_is_away() -> None:
    assert found(check_brokers, facts(fenced=(2,))) == [("broker-away", Severity.SERIOUS)]


@pytest.mark.parametrize(
    ("used", "limit", "expected"),
    [
        (100, 100_000, []),
        (90_000, 100_000, [("files-nearly-used-up", Severity.SERIOUS)]),
        (100, 1_024, [("low-file-limit", Severity.LOW)]),
        (-1, -1, []),
    ],
)
def test_open_files(used: int, limit: int, expected: object) -> None:
    assert found(check_open_files, states(BrokerState(1, open_files=used, open_files_max=limit))) == expected


@pytest.mark.parametrize(
    ("ahead", "doubt", "expected"),
    [
        (100.0, 10.0, []),
        (1_000.0, 10.0, [("clocks-apart", Severity.MEDIUM)]),
        (1_000.0, 400.0, []),  # the answer took so long that this says nothing
        (60_000.0, 10.0, [("clocks-apart", Severity.SERIOUS)]),
    ],
)
def test_clocks(ahead: float, doubt: float, expected: object) -> None:
    seen = states(BrokerState(1, "", 0.0, doubt), BrokerState(2, "", ahead, doubt))
    assert found(check_clocks, seen) == expected


def test_versions_and_features() -> None:
    assert found(check_versions, states(BrokerState(1, "1.0"), BrokerState(2, "1.0"))) == []
    mixed = states(BrokerState(1, "1.0"), BrokerState(2, "1.1"))
    assert found(check_versions, mixed) == [("versions-mixed", Severity.MEDIUM)]
    behind = replace(facts(), features=FeaturesView({}, {1: {"f": (0, 1)}, 2: {"f": (0, 1)}}, ()))
    assert found(check_versions, behind) == [("features-behind", Severity.LOW)]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (facts(), []),
        (facts(has_quorum=False), [("no-quorum", Severity.SERIOUS)]),
        (facts(fenced=(3,)), [("no-voter-to-spare", Severity.SERIOUS)]),
        (facts(brokers=5, fenced=(3,)), []),
        (facts(metadata=quorum(5)), [("few-voters", Severity.MEDIUM)]),
        (facts(brokers=4), [("even-voters", Severity.LOW)]),
        (facts(metadata=quorum(5_000, 5_000, 10)), [("voter-lags", Severity.MEDIUM)]),
    ],
)
def test_the_quorum(seen: DoctorFacts, expected: object) -> None:
    assert found(check_quorum, seen) == expected


def group(state: str, lag: int) -> GroupStanding:
    info = GroupInfo("g", state, "Classic", "", None, ())
    return GroupStanding(info, (PartitionLag(TopicPartition("t", 0), 5, 5 + lag, None),))


def test_groups() -> None:
    assert found(check_groups, replace(facts(), groups=[group("Stable", 9), group("Empty", 0)])) == []
    empty = replace(facts(), groups=[group("Empty", 9)])
    assert found(check_groups, empty) == [("group-without-members", Severity.LOW)]
    stuck = replace(facts(), rebalancing=["g"])
    assert found(check_groups, stuck) == [("group-rebalancing", Severity.MEDIUM)]


def test_queues() -> None:
    place = TopicPartition("jobs", 0)
    worker = QueueMember("m", "c", "h", (place,))
    deep = QueuePartition(place, depth=9, dying=3)
    busy = Queue("q", "Stable", 1, (worker,), (deep,))
    assert found(check_queues, replace(facts(), queues=[busy, Queue("done", "Empty", 1)])) == []
    empty = replace(facts(), queues=[replace(busy, members=())])
    assert found(check_queues, empty) == [("queue-without-members", Severity.LOW)]
    held_up = replace(deep, problem="the topic 'dlq.q' does not exist")
    [finding] = check_queues(replace(facts(), queues=[replace(busy, partitions=(held_up,))]))
    assert (finding.code, finding.severity) == ("dead-letters-held-up", Severity.MEDIUM)
    assert "3 of its dead letters cannot be written: the topic 'dlq.q' does not exist" in str(finding)


def test_transactions() -> None:
    state = ProducerState(TopicPartition("t", 0), 7, 0, 3, 100, None, 5)
    seen = replace(facts(), hanging=[Suspect(state, Why.UNKNOWN, None)])
    assert found(check_transactions, seen) == [("transaction-hangs", Severity.SERIOUS)]


@pytest.mark.parametrize(
    ("replicas", "settings", "expected"),
    [
        (3, {"min.insync.replicas": "2"}, []),
        (3, {"min.insync.replicas": "4"}, [("min-in-sync-above-replicas", Severity.MEDIUM)]),
        (3, {"min.insync.replicas": "3"}, [("no-replica-to-spare", Severity.LOW)]),
        (3, {"min.insync.replicas": "1"}, [("acks-all-of-one", Severity.LOW)]),
        (1, {}, [("single-replica", Severity.LOW)]),
        (
            3,
            {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"},
            [("unclean-elections", Severity.MEDIUM)],
        ),
    ],
)
def test_settings_of_topics(replicas: int, settings: dict[str, str], expected: object) -> None:
    ids = tuple(range(1, replicas + 1))
    one = Partition(TopicPartition("t", 0), 1, ids, ids, ())
    assert found(check_topic_settings, replace(facts([one]), topic_settings={"t": settings})) == expected


def test_settings_of_brokers() -> None:
    several = replace(facts(), broker_settings={1: {"default.replication.factor": "1", "durability": "os"}})
    assert found(check_broker_settings, several) == [("one-replica-by-default", Severity.LOW)]
    alone = replace(facts(brokers=1), broker_settings={1: {"durability": "os"}})
    assert found(check_broker_settings, alone) == [("acknowledged-before-sync", Severity.MEDIUM)]


def registry(ports: Mapping[int, str], partitions: int = 1, policy: str = "compact") -> DoctorFacts:
    places = [Partition(TopicPartition("_schemas", at), 1, (1,), (1,), ()) for at in range(partitions)]
    return replace(
        facts(places),
        broker_settings={broker: {"schema.registry.port": port} for broker, port in ports.items()},
        topic_settings={"_schemas": {"cleanup.policy": policy}},
    )


def test_the_schema_registry_is_at_every_broker_or_at_none() -> None:
    assert found(check_registry, registry({1: "8081", 2: "8081", 3: "8081"})) == []
    mixed = list(check_registry(registry({1: "8081", 2: "0", 3: "-1"})))
    assert [(one.code, one.where) for one in mixed] == [("registry-not-everywhere", "broker 2")]
    # Without the registry its topic is like any other.
    assert found(check_registry, registry({1: "0", 2: "0"}, partitions=3, policy="delete")) == []


def test_the_topic_of_the_schema_registry_has_one_partition_and_keeps_its_records() -> None:
    assert found(check_registry, registry({1: "8081"}, partitions=2)) == [
        ("registry-topic-partitions", Severity.SERIOUS)
    ]
    assert found(check_registry, registry({1: "8081"}, policy="compact,delete")) == [
        ("registry-topic-expires", Severity.SERIOUS)
    ]
