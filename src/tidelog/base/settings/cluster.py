"""A cluster of brokers: who votes on its metadata, how followers copy, how the dead are noticed."""

from tidelog.base.config.setting import INT_MAX, LONG_MAX, Dynamic, Importance, Kind, Setting, Unit, Value
from tidelog.base.voters import parse_voters


def _check_voters(value: Value) -> str | None:
    try:
        parse_voters(value if isinstance(value, tuple) else ())
    except ValueError as error:
        return str(error)
    return None


def _check_throttled(value: Value) -> str | None:
    for pair in value if isinstance(value, tuple) else ():
        left, _, right = pair.partition(":")
        if pair != "*" and not (left.isdigit() and right.isdigit()):
            return f"{pair!r} is not partition:broker, such as 0:1; or * for all replicas"
    return None


_THROTTLED = "replicas whose copying is limited, as partition:broker pairs, or * for all of them"

SETTINGS = (
    Setting(
        "controller.quorum.voters",
        Kind.LIST,
        (),
        "The brokers that vote on the cluster's metadata when it begins, as id@host:port, the same list on "
        "each of them: three or five. A broker that is not among them follows the metadata without a vote. "
        "Later changes are made with `tidelog cluster add-voter` and `remove-voter`, and remembered.",
        importance=Importance.HIGH,
        special="not set: this broker alone, a cluster of one",
        kafka_default="none",
        check=_check_voters,
    ),
    Setting(
        "broker.rack",
        Kind.STRING,
        None,
        "Where this broker stands. Replicas of a partition are spread over racks, and consumers may read "
        "from the replica in theirs.",
        special="not set: no rack",
    ),
    Setting(
        "inter.broker.listener.name",
        Kind.STRING,
        None,
        "The listener by which other brokers reach this one.",
        special="not set: the first of `listeners`",
        kafka_default="PLAINTEXT by its protocol",
    ),
    Setting(
        "controller.quorum.election.timeout.ms",
        Kind.INT,
        1_000,
        "How long a voter hears nothing of the controller before it asks the others for their votes; each "
        "waits up to twice that, by chance, so that they rarely ask at the same time.",
        minimum=50,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "controller.quorum.heartbeat.interval.ms",
        Kind.INT,
        200,
        "How often the controller tells the voters that it is there.",
        minimum=10,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "broker.heartbeat.interval.ms",
        Kind.INT,
        2_000,
        "How often a broker tells the controller that it is alive.",
        minimum=10,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "broker.session.timeout.ms",
        Kind.INT,
        9_000,
        "After how much silence the controller takes a broker for dead and lets others lead its partitions.",
        minimum=50,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "replica.lag.time.max.ms",
        Kind.LONG,
        30_000,
        "How long a follower may be behind its leader before it is no longer in sync; writes with acks=all "
        "wait for it that long.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.max.bytes",
        Kind.INT,
        1_048_576,
        "What a follower asks for at a time, of each partition. A larger batch is still copied.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "replica.fetch.response.max.bytes",
        Kind.INT,
        10_485_760,
        "What a follower asks for at a time, of all partitions of one leader.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "replica.fetch.wait.max.ms",
        Kind.INT,
        500,
        "How long a leader lets a follower wait for new records. Less than replica.lag.time.max.ms, or "
        "followers of quiet partitions fall out of sync.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.min.bytes",
        Kind.INT,
        1,
        "How much there should be before a waiting follower is answered.",
        minimum=0,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.backoff.ms",
        Kind.INT,
        1_000,
        "How long a follower waits after an error before it asks again.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "replica.socket.timeout.ms",
        Kind.INT,
        30_000,
        "How long a follower waits for its leader's answer before it takes the connection for dead.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.high.watermark.checkpoint.interval.ms",
        Kind.LONG,
        5_000,
        "How often the high watermarks are written down, for a start after a crash.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.selector.class",
        Kind.STRING,
        None,
        "Which replica a consumer with a rack is sent to. A class whose name ends with "
        "`RackAwareReplicaSelector` sends it to one in its own rack; anything else to the leader.",
        special="not set: the leader",
    ),
    Setting(
        "auto.leader.rebalance.enable",
        Kind.BOOL,
        True,
        "Give partitions back to their preferred leader, the first of their replicas, once it is in sync.",
        importance=Importance.HIGH,
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        Kind.LONG,
        300,
        "How often the controller looks for partitions that their preferred leader could lead again.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage",
        Kind.INT,
        10,
        "How many percent of a broker's preferred partitions others may lead before they are given back.",
        minimum=0,
        importance=Importance.HIGH,
        kafka_default="10; since 4.1 it is no longer read there",
    ),
    Setting(
        "controlled.shutdown.enable",
        Kind.BOOL,
        True,
        "Hand over the partitions that this broker leads before it stops, so that no request fails.",
    ),
    Setting(
        "controlled.shutdown.timeout.ms",
        Kind.LONG,
        10_000,
        "How long a stopping broker waits for that.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "leader.replication.throttled.rate",
        Kind.LONG,
        INT_MAX,
        "Bytes a second that this broker, as leader, gives to throttled followers that are not in sync.",
        minimum=0,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "follower.replication.throttled.rate",
        Kind.LONG,
        INT_MAX,
        "Bytes a second that this broker, as follower that is not in sync, takes for throttled replicas.",
        minimum=0,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        Kind.LONG,
        LONG_MAX,
        "Bytes a second that this broker copies, on average over ten seconds, when replicas move from one of "
        "its log dirs to another.",
        minimum=1,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
)

TOPIC_ONLY = (
    Setting(
        "leader.replication.throttled.replicas",
        Kind.LIST,
        (),
        f"Leaders' side: {_THROTTLED}. See leader.replication.throttled.rate.",
        dynamic=Dynamic.CLUSTER_WIDE,
        check=_check_throttled,
    ),
    Setting(
        "follower.replication.throttled.replicas",
        Kind.LIST,
        (),
        f"Followers' side: {_THROTTLED}. See follower.replication.throttled.rate.",
        dynamic=Dynamic.CLUSTER_WIDE,
        check=_check_throttled,
    ),
)
