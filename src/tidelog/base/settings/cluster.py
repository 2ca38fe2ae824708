"""A cluster of brokers: the metadata quorum, replication, and the detection of failed brokers."""

from tidelog.base.config.setting import INT_MAX, LONG_MAX, Dynamic, Importance, Kind, Setting, Unit, Value
from tidelog.base.cordons import ALL_LOG_DIRS, CORDONED_LOG_DIRS
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


def _check_cordoned(value: Value) -> str | None:
    if value in ((), (ALL_LOG_DIRS,)):
        return None
    return f"a broker is cordoned as a whole, with {ALL_LOG_DIRS}, and not by its log dirs"


_THROTTLED = "throttled replicas, as partition:broker pairs, or * for all replicas"

SETTINGS = (
    Setting(
        "controller.quorum.voters",
        Kind.LIST,
        (),
        "The brokers that vote in the metadata quorum of a new cluster, as id@host:port; three or five, "
        "with the same list on each of them. A broker that is not in the list follows the metadata without "
        "a vote. `tidelog cluster add-voter` and `remove-voter` change the voters later; the metadata log "
        "stores these changes.",
        importance=Importance.HIGH,
        special="not set: this broker alone, a cluster of one",
        kafka_default="none",
        check=_check_voters,
    ),
    Setting(
        "broker.rack",
        Kind.STRING,
        None,
        "The rack of this broker. Replicas of a partition are spread across racks, and consumers can fetch "
        "from the replica in their own rack.",
        special="not set: no rack",
    ),
    Setting(
        "broker.machine",
        Kind.STRING,
        None,
        "The machine of this broker, by any name: the same on brokers that fail together, since they share a "
        "computer. Two replicas of a partition are never placed on one machine.",
        special="not set: this broker shares its machine with no other",
        ours=True,
    ),
    Setting(
        CORDONED_LOG_DIRS,
        Kind.LIST,
        (),
        "Set to `*`, keeps new replicas away from this broker; the replicas that it has stay. "
        "`tidelog cluster drain` sets it, and a drained broker that stops is unregistered. It has an effect "
        "only as a dynamic setting of one broker.",
        dynamic=Dynamic.PER_BROKER,
        special="empty: the broker takes replicas",
        check=_check_cordoned,
    ),
    Setting(
        "inter.broker.listener.name",
        Kind.STRING,
        None,
        "The listener that other brokers use to reach this broker.",
        special="not set: the first of `listeners`",
        kafka_default="PLAINTEXT by its protocol",
    ),
    Setting(
        "controller.quorum.election.timeout.ms",
        Kind.INT,
        1_000,
        "How long a voter waits without hearing from the controller before it starts an election. Each "
        "voter waits a random time of up to twice this value, so that two rarely start at once.",
        minimum=50,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "controller.quorum.heartbeat.interval.ms",
        Kind.INT,
        200,
        "How often the controller sends heartbeats to the other voters.",
        minimum=10,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "broker.heartbeat.interval.ms",
        Kind.INT,
        2_000,
        "How often a broker sends a heartbeat to the controller.",
        minimum=10,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "broker.session.timeout.ms",
        Kind.INT,
        9_000,
        "How long the controller waits without a heartbeat from a broker before it fences the broker and "
        "elects other leaders for its partitions.",
        minimum=50,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "replica.lag.time.max.ms",
        Kind.LONG,
        30_000,
        "How long a follower may lag behind its leader before it leaves the in-sync replicas. Writes with "
        "acks=all wait up to this long for it.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.max.bytes",
        Kind.INT,
        1_048_576,
        "The number of bytes that a follower fetches per partition and request. A batch larger than this "
        "is still fetched.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "replica.fetch.response.max.bytes",
        Kind.INT,
        10_485_760,
        "The number of bytes that a follower fetches per request from one leader, across all partitions.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "replica.fetch.wait.max.ms",
        Kind.INT,
        500,
        "How long a leader delays a follower's fetch while there are no new records. Keep it below "
        "replica.lag.time.max.ms, or followers of idle partitions leave the in-sync replicas.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.min.bytes",
        Kind.INT,
        1,
        "The number of bytes that must be available before a leader answers a waiting follower.",
        minimum=0,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.fetch.backoff.ms",
        Kind.INT,
        1_000,
        "How long a follower waits after an error before it fetches again.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "replica.socket.timeout.ms",
        Kind.INT,
        30_000,
        "How long a follower waits for a response from its leader before it closes the connection.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.high.watermark.checkpoint.interval.ms",
        Kind.LONG,
        5_000,
        "How often the high watermarks are written to disk, for a start after a crash.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "replica.selector.class",
        Kind.STRING,
        None,
        "How a consumer with a rack is assigned a replica to fetch from. A class name that ends with "
        "`RackAwareReplicaSelector` selects a replica in the consumer's rack; any other value selects the "
        "leader.",
        special="not set: the leader",
    ),
    Setting(
        "auto.leader.rebalance.enable",
        Kind.BOOL,
        True,
        "Move leadership back to the preferred leader, the first replica in the list, once it is in sync.",
        importance=Importance.HIGH,
    ),
    Setting(
        "leader.imbalance.check.interval.seconds",
        Kind.LONG,
        300,
        "How often the controller checks for partitions whose preferred leader is in sync but does not lead.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "leader.imbalance.per.broker.percentage",
        Kind.INT,
        10,
        "The percentage of a broker's preferred partitions that other brokers may lead before the "
        "controller moves leadership back.",
        minimum=0,
        importance=Importance.HIGH,
        kafka_default="10; since 4.1 it is no longer read there",
    ),
    Setting(
        "controlled.shutdown.enable",
        Kind.BOOL,
        True,
        "Move leadership to other brokers before this broker stops, so that no request fails.",
    ),
    Setting(
        "controlled.shutdown.timeout.ms",
        Kind.LONG,
        10_000,
        "How long a stopping broker waits for other brokers to take over its leadership.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "leader.replication.throttled.rate",
        Kind.LONG,
        INT_MAX,
        "The bytes per second that this broker, as a leader, sends to throttled followers that are not in "
        "sync.",
        minimum=0,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "follower.replication.throttled.rate",
        Kind.LONG,
        INT_MAX,
        "The bytes per second that this broker, as a follower, fetches for throttled replicas that are not "
        "in sync.",
        minimum=0,
        unit=Unit.BYTES_PER_SECOND,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        Kind.LONG,
        LONG_MAX,
        "The bytes per second, averaged over ten seconds, that this broker copies when replicas move "
        "between its log dirs.",
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
        f"On the leader: {_THROTTLED}. See leader.replication.throttled.rate.",
        dynamic=Dynamic.CLUSTER_WIDE,
        check=_check_throttled,
    ),
    Setting(
        "follower.replication.throttled.replicas",
        Kind.LIST,
        (),
        f"On the follower: {_THROTTLED}. See follower.replication.throttled.rate.",
        dynamic=Dynamic.CLUSTER_WIDE,
        check=_check_throttled,
    ),
)
