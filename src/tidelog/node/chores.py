"""What a broker does by the clock: retention, checkpoints, compaction, repairs, and a look at its machine."""

from tidelog.base.ports import Disk
from tidelog.broker.faults import LOOK_SECONDS as FAULTS_SECONDS
from tidelog.broker.faults import Faults
from tidelog.broker.log_dirs.cleaner import LogCleaner
from tidelog.broker.log_dirs.housekeeping import Housekeeping
from tidelog.broker.log_dirs.journal_restarts import LOOK_SECONDS as RESTART_LOOK_SECONDS
from tidelog.broker.log_dirs.journal_restarts import JournalRestarts
from tidelog.broker.log_dirs.log_dir_reports import REPORT_SECONDS, LogDirReports
from tidelog.broker.log_dirs.log_reopening import LOOK_SECONDS, LogReopening
from tidelog.broker.replication.loss_repair import REPAIR_SECONDS, LossRepair
from tidelog.broker.requests.context import Services
from tidelog.broker.security.quota_switch import QuotaSwitch
from tidelog.broker.shares.lazy_deletion import ROUND_SECONDS, LazyDeletion
from tidelog.server.memory_watch import MemoryWatch
from tidelog.server.tickers import Chore, Tickers

SEALED_SECONDS = 2.0
FLUSH_RULES_SECONDS = 0.5
PRODUCER_EXPIRY_SECONDS = 600


def start_chores(
    services: Services,
    disk: Disk,
    chores: Housekeeping,
    cleaner: LogCleaner,
    reports: LogDirReports,
    *,
    faults: Faults,
    memory: MemoryWatch,
    quotas: QuotaSwitch,
) -> Tickers:
    tickers = Tickers()
    metadata = services.metadata
    repair = LossRepair(
        services.partitions, services.peers, services.clock, services.run_in_thread, reports.send
    )
    revival = LogReopening(disk, services.partitions, services.clock, services.run_in_thread)
    journals = JournalRestarts(services.partitions.log_dirs, services.clock, services.run_in_thread)

    services.deletion = deletion = LazyDeletion(
        metadata, services.partitions, services.peers, lambda: services.shares, chores.retire_below_start
    )

    def every(setting: str, chore: Chore, name: str) -> None:
        tickers.every(lambda: metadata.config.int(setting) / 1000, chore, name)

    every("log.retention.check.interval.ms", chores.retire_segments, "retention")
    every("durability.interval.ms", chores.sync_by_interval, "interval sync")
    every("log.flush.offset.checkpoint.interval.ms", chores.checkpoint, "checkpoint")
    every(
        "replica.high.watermark.checkpoint.interval.ms",
        chores.checkpoint_high_watermarks,
        "high watermarks",
    )
    every("log.cleaner.backoff.ms", cleaner.clean_once, "compaction")
    tickers.every(lambda: ROUND_SECONDS, deletion.run_once, "deletion of finished records")
    tickers.every(lambda: SEALED_SECONDS, chores.checkpoint_sealed, "checkpoint of sealed segments")
    tickers.every(lambda: REPORT_SECONDS, reports.send, "log dir reports")
    tickers.every(lambda: REPAIR_SECONDS, repair.run_once, "repair of damaged logs")
    tickers.every(lambda: LOOK_SECONDS, revival.run_once, "logs without room")
    tickers.every(lambda: RESTART_LOOK_SECONDS, journals.run_once, "journals that failed")
    tickers.every(lambda: FAULTS_SECONDS, lambda: memory.run_once(services.run_in_thread), "memory in use")
    for name, chore in faults.chores().items():
        tickers.every(lambda: FAULTS_SECONDS, chore, name)
    tickers.every(lambda: FLUSH_RULES_SECONDS, chores.sync_by_topic_rules, "flush rules")
    tickers.every(lambda: quotas.span_seconds, quotas.forget_idle, "idle quotas")
    tickers.every(lambda: PRODUCER_EXPIRY_SECONDS, chores.forget_producers, "producer expiry")
    if (audit := services.audit) is not None:
        tickers.every(lambda: audit.interval_seconds, audit.end_interval, "audit record")
    return tickers
