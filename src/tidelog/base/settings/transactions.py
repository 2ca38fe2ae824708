"""Transactions: how long they may take, how long their ids are kept, and the topic that holds them."""

from tidelog.base.config.setting import Importance, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "transaction.max.timeout.ms",
        Kind.INT,
        900_000,
        "The longest timeout that a producer may ask for its transactions. A transaction that stays open for "
        "longer than its timeout is aborted: until then consumers that read committed records wait for it.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "transactional.id.expiration.ms",
        Kind.INT,
        7 * 24 * 3_600_000,
        "How long a transactional id is remembered that nobody uses. Its producer gets a new producer id "
        "when it comes back later.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Kind.INT,
        3_600_000,
        "How often the broker looks for transactional ids that are past their expiration.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.partition.verification.enable",
        Kind.BOOL,
        True,
        "Whether a partition's leader asks the coordinator, before the first record of a transaction, if the "
        "partition is part of it. Without that a record that arrives late can open a transaction that nobody "
        "ends, and hold up consumers. Clients of the newest protocol are always checked.",
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.two.phase.commit.enable",
        Kind.BOOL,
        False,
        "Whether producers may hold a prepared transaction for as long as an outside coordinator likes, "
        "through restarts of their own. Such a transaction has no timeout: one that is forgotten holds up "
        "consumers until somebody aborts it.",
        importance=Importance.LOW,
    ),
    Setting(
        "transaction.state.log.num.partitions",
        Kind.INT,
        50,
        "How many partitions `__transaction_state` is created with. Transactional ids are spread over them "
        "by their hash, so the number must not change once the topic exists.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.state.log.replication.factor",
        Kind.SHORT,
        -1,
        "How many brokers hold each partition of `__transaction_state`, taken when the topic is created.",
        minimum=-1,
        importance=Importance.HIGH,
        special="-1: three, or as many as the cluster has",
        kafka_default="3",
    ),
    Setting(
        "transaction.state.log.min.isr",
        Kind.INT,
        2,
        "How many in-sync replicas must have a decision about a transaction before it is acted on. Taken "
        "when `__transaction_state` is created, and never more than all of its replicas but one.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "transaction.state.log.segment.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The segment size of `__transaction_state`. Smaller segments are compacted sooner, which makes a new "
        "coordinator load faster.",
        minimum=1024,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
)
