"""Transactions: timeouts, expiration of ids, and the topic `__transaction_state`."""

from tidelog.base.config.setting import Importance, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "transaction.max.timeout.ms",
        Kind.INT,
        900_000,
        "The maximum transaction timeout that a producer may request. The coordinator aborts a transaction "
        "that stays open longer than its timeout; until then it blocks consumers that read committed "
        "records.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "transactional.id.expiration.ms",
        Kind.INT,
        7 * 24 * 3_600_000,
        "How long the coordinator keeps an unused transactional id. A producer that returns later gets a "
        "new producer id.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Kind.INT,
        3_600_000,
        "How often the broker checks for expired transactional ids.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.partition.verification.enable",
        Kind.BOOL,
        True,
        "Before the first record of a transaction, verify with the coordinator that the partition is part "
        "of it. Without verification a delayed record can open a transaction that never ends and blocks "
        "consumers. Clients of the newest protocol are always verified.",
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.two.phase.commit.enable",
        Kind.BOOL,
        False,
        "Allow producers to keep a prepared transaction open for as long as an external coordinator needs, "
        "across restarts. Such a transaction has no timeout: if it is forgotten, it blocks consumers until "
        "an operator aborts it.",
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.state.log.num.partitions",
        Kind.INT,
        50,
        "The number of partitions of `__transaction_state`. Transactional ids are distributed by their "
        "hash, so the number must not change once the topic exists.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.state.log.replication.factor",
        Kind.SHORT,
        -1,
        "The replication factor of `__transaction_state`, used when the topic is created.",
        minimum=-1,
        importance=Importance.HIGH,
        special="-1: three, or as many as the cluster has",
        kafka_default="3",
    ),
    Setting(
        "transaction.state.log.min.isr",
        Kind.INT,
        2,
        "The `min.insync.replicas` of `__transaction_state`, used when the topic is created and at most "
        "its number of replicas minus one. The coordinator acts on a decision only when that many replicas "
        "have it.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.state.log.segment.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The segment size of `__transaction_state`. Smaller segments are compacted sooner, so a new "
        "coordinator loads faster.",
        minimum=1024,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
)
