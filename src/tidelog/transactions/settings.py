"""The broker's settings for transactions, in the units that the decisions use."""

from dataclasses import dataclass

from tidelog.base.config.config import BrokerConfig


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    timeout_ms_max: int = 900_000
    id_expiration_ms: int = 7 * 24 * 3_600_000
    expiry_check_interval_ms: int = 3_600_000
    two_phase_commit: bool = False
    """Whether clients may hold a prepared transaction for as long as an outside coordinator likes."""

    @classmethod
    def of(cls, config: BrokerConfig) -> "TransactionSettings":
        return cls(
            timeout_ms_max=config.int("transaction.max.timeout.ms"),
            id_expiration_ms=config.int("transactional.id.expiration.ms"),
            expiry_check_interval_ms=config.int("transaction.remove.expired.transaction.cleanup.interval.ms"),
            two_phase_commit=config.bool("transaction.two.phase.commit.enable"),
        )


@dataclass(frozen=True, slots=True)
class StateTopicSettings:
    """How `__transaction_state` is created."""

    partitions: int = 50
    replication_factor: int = -1
    min_insync_replicas: int = 2
    segment_bytes: int = 100 * 1024 * 1024

    @classmethod
    def of(cls, config: BrokerConfig) -> "StateTopicSettings":
        return cls(
            partitions=config.int("transaction.state.log.num.partitions"),
            replication_factor=config.int("transaction.state.log.replication.factor"),
            min_insync_replicas=config.int("transaction.state.log.min.isr"),
            segment_bytes=config.int("transaction.state.log.segment.bytes"),
        )
