"""For each alert: series under which it fires, with its labels, and series that must not wake anyone.

Values are in promtool's notation, one a minute: `0+5x60` is 0, 5, 10 and so on, 61 values; `_` is no sample.
"""

from dataclasses import dataclass

Series = dict[str, str]

BROKER = 'job="tidelog",instance="b1:9404"'
SECOND = 'job="tidelog",instance="b2:9404"'
OF_BROKER = {"job": "tidelog", "instance": "b1:9404"}
OF_CLUSTER = {"job": "tidelog"}
PIPELINE = 'job="pipes",instance="p:9410",pipeline="sales",query="q"'
OF_PIPELINE = {"job": "pipes", "instance": "p:9410", "pipeline": "sales", "query": "q"}


@dataclass(frozen=True)
class Case:
    alert: str
    fires: Series
    labels: dict[str, str]
    stays_quiet: Series
    at_minutes: int = 120


def gauge(alert: str, name: str, values: tuple[int, int], labels: dict[str, str], extra: str = "") -> Case:
    """One series, whose value decides: the first makes it fire."""
    fires, quiet = values
    series = f"{name}{{{BROKER}{extra}}}"
    return Case(alert, {series: f"{fires}x120"}, labels, {series: f"{quiet}x120"})


def histogram(name: str, labels: str, below: str, le: str) -> Series:
    """Observations a minute: 100, of which `below` are at most `le` seconds."""
    return {
        f'{name}_bucket{{{labels},le="{le}"}}': f"0+{below}x120",
        f'{name}_bucket{{{labels},le="10.0"}}': "0+100x120",
        f'{name}_bucket{{{labels},le="+Inf"}}': "0+100x120",
    }


def slow(alert: str, name: str, labels: str, of: dict[str, str], le: str) -> Case:
    return Case(alert, histogram(name, labels, "90", le), of, histogram(name, labels, "100", le))


LOG_DIR = f'{BROKER},log_dir="/data"'
OF_LOG_DIR = {**OF_BROKER, "log_dir": "/data"}
LAG = f'{BROKER},group="billing",topic="orders"'
OF_GROUP = {**OF_CLUSTER, "group": "billing", "topic": "orders"}
ERRORS = f'tidelog_request_errors_total{{{BROKER},api="Produce"'
SASL = 'listener="SASL",mechanism="PLAIN"'
DAY = 86_400
GB = 1_000_000_000

BROKERS = [
    Case(
        "TidelogBrokerDown",
        {
            f"up{{{BROKER}}}": "1 1 0x60",
            f"up{{{SECOND}}}": "1x60",
            f'tidelog_info{{{BROKER},broker="1"}}': "1 1 _x60",
        },
        OF_BROKER,
        # Another job's target is down, which is no broker.
        {
            'up{job="web",instance="w:80"}': "0x60",
            f"up{{{BROKER}}}": "1x60",
            f"tidelog_info{{{BROKER}}}": "1x60",
        },
        at_minutes=10,
    ),
    gauge("TidelogBrokerFenced", "tidelog_brokers", (1, 0), OF_CLUSTER, ',state="fenced"'),
    gauge("TidelogBrokerNotReady", "tidelog_ready", (0, 1), OF_BROKER),
    gauge("TidelogMemoryPressure", "tidelog_memory_pressure", (1, 0), OF_BROKER),
    Case(
        "TidelogRequestMemoryExhausted",
        {f"tidelog_memory_stalls_total{{{BROKER}}}": "0+600x120"},
        OF_BROKER,
        {f"tidelog_memory_stalls_total{{{BROKER}}}": "0+6x120"},
    ),
    Case(
        "TidelogFileDescriptorsShort",
        {
            f"process_open_fds{{{BROKER}}}": "900x120",
            f"process_max_fds{{{BROKER}}}": "1000x120",
            f"tidelog_info{{{BROKER}}}": "1x120",
        },
        OF_BROKER,
        {  # a broker with enough of them, and a stranger that has too few
            f"process_open_fds{{{BROKER}}}": "500x120",
            f"process_max_fds{{{BROKER}}}": "1000x120",
            f"tidelog_info{{{BROKER}}}": "1x120",
            'process_open_fds{job="web",instance="w:80"}': "999x120",
            'process_max_fds{job="web",instance="w:80"}': "1000x120",
        },
    ),
    Case(
        "TidelogClockJumped",
        {f"tidelog_clock_jumps_total{{{BROKER}}}": "0x115 1x5"},
        OF_BROKER,
        {f"tidelog_clock_jumps_total{{{BROKER}}}": "0x60 1x60"},
    ),
    # Until the clock is right, or believed: then retention follows it.
    Case(
        "TidelogClockJumped",
        {
            f"tidelog_clock_jumps_total{{{BROKER}}}": "0x30 1x90",
            f"tidelog_clock_held{{{BROKER}}}": "0x30 1x90",
        },
        OF_BROKER,
        {f"tidelog_clock_held{{{BROKER}}}": "1x60 0x60"},
    ),
    slow("TidelogEventLoopLate", "tidelog_event_loop_lag_seconds", BROKER, OF_BROKER, "0.1"),
    Case(
        "TidelogMetricsIncomplete",
        {f"tidelog_metrics_series_left_out{{{BROKER}}}": "12x120"},
        OF_BROKER,
        {
            f"tidelog_metrics_series_left_out{{{BROKER}}}": "0x120",
            f'tidelog_metrics_collector_errors_total{{{BROKER},collector="groups"}}': "4x120",
        },
    ),
    Case(
        "TidelogMetricsIncomplete",
        {f'tidelog_metrics_collector_errors_total{{{BROKER},collector="groups"}}': "0+1x120"},
        OF_BROKER,
        {f'tidelog_metrics_collector_errors_total{{{BROKER},collector="groups"}}': "1x120"},
    ),
]

CONTROLLERS = [
    Case(
        "TidelogNoController",
        {f"tidelog_active_controller{{{name}}}": "0x120" for name in (BROKER, SECOND)},
        OF_CLUSTER,
        {
            f"tidelog_active_controller{{{BROKER}}}": "1x120",
            f"tidelog_active_controller{{{SECOND}}}": "0x120",
        },
    ),
    Case(
        "TidelogTwoControllers",
        {f"tidelog_active_controller{{{name}}}": "1x120" for name in (BROKER, SECOND)},
        OF_CLUSTER,
        # Two clusters have one each, and a change may show two for a moment.
        {
            f"tidelog_active_controller{{{BROKER}}}": "0x119 1x5",
            f"tidelog_active_controller{{{SECOND}}}": "1x125",
            'tidelog_active_controller{job="other",instance="o:9404"}': "1x125",
        },
    ),
    Case(
        "TidelogQuorumVoterLagging",
        {f'tidelog_raft_voter_lag_entries{{{BROKER},broker="3"}}': "5000x120"},
        {**OF_CLUSTER, "broker": "3"},
        {f'tidelog_raft_voter_lag_entries{{{BROKER},broker="3"}}': "2x110 5000 5000 2x10"},
    ),
    Case(
        "TidelogQuorumElections",
        {f"tidelog_raft_leader_changes_total{{{BROKER}}}": "1x110 2 3 4 5 6 7 8 8 8 8"},
        OF_CLUSTER,
        {f"tidelog_raft_leader_changes_total{{{BROKER}}}": "1x110 2x10"},
    ),
    Case(
        "TidelogMetadataErrors",
        {f"tidelog_metadata_errors_total{{{BROKER}}}": "0x115 1x5"},
        OF_BROKER,
        {f"tidelog_metadata_errors_total{{{BROKER}}}": "0x120"},
    ),
]

REPLICATION = [
    gauge("TidelogOfflinePartitions", "tidelog_offline_partitions", (3, 0), OF_CLUSTER),
    gauge("TidelogUnderMinIsr", "tidelog_under_min_isr_partitions", (3, 0), OF_CLUSTER),
    gauge("TidelogUnderReplicated", "tidelog_under_replicated_partitions", (3, 0), OF_CLUSTER),
    Case(
        "TidelogUnderReplicated",
        {f"tidelog_under_replicated_partitions{{{name}}}": "2x120" for name in (BROKER, SECOND)},
        OF_CLUSTER,
        # A restart of a broker: five minutes.
        {f"tidelog_under_replicated_partitions{{{BROKER}}}": "0x115 2x5"},
    ),
    Case(
        "TidelogIsrFlapping",
        {f"tidelog_isr_{what}_total{{{BROKER}}}": "0+2x120" for what in ("shrinks", "expands")},
        OF_CLUSTER,
        # A broker went away: every set shrinks once.
        {
            f"tidelog_isr_shrinks_total{{{BROKER}}}": "0x110 40x10",
            f"tidelog_isr_expands_total{{{BROKER}}}": "0x120",
        },
    ),
    Case(
        "TidelogUncleanElection",
        {f"tidelog_unclean_elections_total{{{BROKER}}}": "0x100 1x20"},
        OF_CLUSTER,
        {f"tidelog_unclean_elections_total{{{BROKER}}}": "1x120"},
    ),
    gauge("TidelogDamagedPartitions", "tidelog_damaged_partitions", (1, 0), OF_BROKER),
    Case(
        "TidelogLeadersImbalanced",
        {
            f"tidelog_imbalanced_partitions{{{BROKER}}}": "50x120",
            f"tidelog_partitions{{{BROKER}}}": "100x120",
        },
        OF_CLUSTER,
        {
            f"tidelog_imbalanced_partitions{{{BROKER}}}": "10x120",
            f"tidelog_partitions{{{BROKER}}}": "100x120",
        },
    ),
    Case(
        "TidelogCoordinatorFailed",
        {f'tidelog_coordinator_shards{{{BROKER},topic="__consumer_offsets",state="failed"}}': "1x120"},
        {**OF_CLUSTER, "topic": "__consumer_offsets"},
        {f'tidelog_coordinator_shards{{{BROKER},topic="__consumer_offsets",state="loading"}}': "4x120"},
    ),
]

STORAGE = [
    Case(
        "TidelogDiskFullSoon",
        {  # 20 of 100 GB are left, 100 MB fewer every minute
            f"tidelog_log_dir_free_bytes{{{LOG_DIR}}}": f"{32 * GB}-{GB // 10}x120",
            f"tidelog_log_dir_reserve_bytes{{{LOG_DIR}}}": f"{GB}x120",
        },
        OF_LOG_DIR,
        {
            f"tidelog_log_dir_free_bytes{{{LOG_DIR}}}": f"{32 * GB}-{GB // 1000}x120",
            f"tidelog_log_dir_reserve_bytes{{{LOG_DIR}}}": f"{GB}x120",
        },
    ),
    Case(
        "TidelogDiskLow",
        {
            f"tidelog_log_dir_free_bytes{{{LOG_DIR}}}": f"{5 * GB}x120",
            f"tidelog_log_dir_total_bytes{{{LOG_DIR}}}": f"{100 * GB}x120",
        },
        OF_LOG_DIR,
        {
            f"tidelog_log_dir_free_bytes{{{LOG_DIR}}}": f"{50 * GB}x120",
            f"tidelog_log_dir_total_bytes{{{LOG_DIR}}}": f"{100 * GB}x120",
        },
    ),
    gauge("TidelogDiskBelowReserve", "tidelog_log_dir_refusing", (1, 0), OF_LOG_DIR, ',log_dir="/data"'),
    gauge("TidelogLogDirOffline", "tidelog_log_dir_offline", (1, 0), OF_LOG_DIR, ',log_dir="/data"'),
    gauge("TidelogLogDirHangs", "tidelog_log_dir_hangs", (1, 0), OF_LOG_DIR, ',log_dir="/data"'),
    slow("TidelogFsyncSlow", "tidelog_fsync_seconds", LOG_DIR, OF_LOG_DIR, "0.25"),
    gauge("TidelogCleanerFailed", "tidelog_cleaner_failed_logs", (2, 0), OF_BROKER),
]

REQUESTS = [
    Case(
        "TidelogRequestErrors",
        {
            f'tidelog_requests_total{{{BROKER},api="Produce"}}': "0+100x120",
            f'{ERRORS},error="NOT_ENOUGH_REPLICAS"}}': "0+10x120",
        },
        {**OF_CLUSTER, "api": "Produce"},
        {  # a client that asks for what is not there, and a few timeouts
            f'tidelog_requests_total{{{BROKER},api="Produce"}}': "0+100x120",
            f'{ERRORS},error="UNKNOWN_TOPIC_OR_PARTITION"}}': "0+90x120",
            f'{ERRORS},error="REQUEST_TIMED_OUT"}}': "0+1x120",
        },
    ),
    Case(
        "TidelogRequestsSlow",
        histogram("tidelog_request_seconds", f'{BROKER},api="Produce"', "90", "0.5"),
        {**OF_BROKER, "api": "Produce"},
        {  # fetches wait for records, and that is what they are for
            **histogram("tidelog_request_seconds", f'{BROKER},api="Fetch"', "10", "0.5"),
            **histogram("tidelog_request_seconds", f'{BROKER},api="Produce"', "100", "0.5"),
        },
    ),
    Case(
        "TidelogAuthenticationFailures",
        {
            f"tidelog_authentication_failures_total{{{BROKER},{SASL}}}": "0+60x120",
            f"tidelog_authentication_failures_total{{{SECOND},{SASL}}}": "0+60x120",
        },
        {**OF_CLUSTER, "listener": "SASL", "mechanism": "PLAIN"},
        {f"tidelog_authentication_failures_total{{{BROKER},{SASL}}}": "0+5x120"},
    ),
    Case(
        "TidelogConnectionsRefused",
        {f'tidelog_connections_refused_total{{{BROKER},reason="max.connections"}}': "0+600x120"},
        {**OF_BROKER, "reason": "max.connections"},
        {f'tidelog_connections_refused_total{{{BROKER},reason="max.connections"}}': "0+6x120"},
    ),
    # Time begins at 0 here, and it is two hours later.
    gauge(
        "TidelogCertificateExpiring",
        "tidelog_certificate_expiry_time_seconds",
        (DAY, 20 * DAY),
        {**OF_BROKER, "listener": "SSL"},
        ',listener="SSL"',
    ),
    gauge(
        "TidelogCertificateExpired",
        "tidelog_certificate_expiry_time_seconds",
        (60, 10 * DAY),
        {**OF_BROKER, "listener": "SSL"},
        ',listener="SSL"',
    ),
    Case(
        "TidelogAuditEventsLost",
        {f"tidelog_audit_lost_events_total{{{BROKER}}}": "0x115 3x5"},
        OF_BROKER,
        {f"tidelog_audit_lost_events_total{{{BROKER}}}": "3x120"},
    ),
]

READERS = [
    Case(
        "TidelogGroupLagGrowing",
        {f'tidelog_group_lag_records{{{LAG},partition="0"}}': "0+500x120"},
        OF_GROUP,
        # Far behind, and catching up; another is slightly behind, and falls further.
        {
            f'tidelog_group_lag_records{{{LAG},partition="0"}}': "500000-1000x120",
            f'tidelog_group_lag_records{{{BROKER},group="slow",topic="orders",partition="0"}}': "0+1x120",
        },
    ),
    gauge(
        "TidelogGroupLagHigh",
        "tidelog_group_lag_seconds",
        (900, 30),
        OF_GROUP,
        ',group="billing",topic="orders",partition="0"',
    ),
    # Too many partitions on the coordinator: it shows sums of groups alone.
    Case(
        "TidelogGroupLagGrowing",
        {f'tidelog_group_total_lag_records{{{BROKER},group="billing"}}': "0+500x120"},
        {"job": "tidelog", "group": "billing"},
        {f'tidelog_group_total_lag_records{{{BROKER},group="billing"}}': "500000-1000x120"},
    ),
    gauge(
        "TidelogGroupLagHigh",
        "tidelog_group_lag_seconds_max",
        (900, 30),
        {"job": "tidelog", "group": "billing"},
        ',group="billing"',
    ),
    # Of partitions and of the group: one alert, and not two.
    Case(
        "TidelogGroupLagHigh",
        {
            f'tidelog_group_lag_seconds{{{LAG},partition="0"}}': "900x120",
            f'tidelog_group_lag_seconds_max{{{BROKER},group="billing"}}': "900x120",
        },
        OF_GROUP,
        {f'tidelog_group_lag_seconds_max{{{BROKER},group="billing"}}': "30x120"},
    ),
    gauge("TidelogTransactionHanging", "tidelog_transaction_oldest_open_seconds", (3600, 60), OF_BROKER),
    Case(
        "TidelogPipelineFailed",
        {f"tidelog_pipeline_up{{{PIPELINE}}}": "1x100 0x20"},
        OF_PIPELINE,
        {f"tidelog_pipeline_up{{{PIPELINE}}}": "1x120"},
    ),
    Case(
        "TidelogPipelineDown",
        {
            'up{job="pipes",instance="p:9410"}': "1x100 0x20",
            f"tidelog_pipeline_up{{{PIPELINE}}}": "1x100 _x20",
        },
        {"job": "pipes", "instance": "p:9410"},
        {'up{job="pipes",instance="p:9410"}': "1x120", f"tidelog_pipeline_up{{{PIPELINE}}}": "1x120"},
    ),
    Case(
        "TidelogPipelineStalled",
        {
            f"tidelog_pipeline_last_batch_time_seconds{{{PIPELINE}}}": "600x120",
            f'tidelog_pipeline_lag_records{{{PIPELINE},topic="orders"}}': "0+10x120",
        },
        {"job": "pipes", "pipeline": "sales", "query": "q"},
        {  # nothing has arrived since
            f"tidelog_pipeline_last_batch_time_seconds{{{PIPELINE}}}": "600x120",
            f'tidelog_pipeline_lag_records{{{PIPELINE},topic="orders"}}': "0x120",
        },
    ),
    Case(
        "TidelogPipelineRestarting",
        {f"tidelog_pipeline_restarts_total{{{PIPELINE}}}": "0+1x120"},
        OF_PIPELINE,
        {f"tidelog_pipeline_restarts_total{{{PIPELINE}}}": "0x110 1x10"},
    ),
]

QUEUE = f'{BROKER},group="billing",topic="orders"'

QUEUES = [
    gauge(
        "TidelogDeadLettersHeldUp",
        "tidelog_share_group_held_up_dead_letters",
        (2, 0),
        {**OF_CLUSTER, "group": "billing"},
        ',group="billing"',
    ),
    Case(
        "TidelogQueueStandsStill",
        {f"tidelog_share_group_oldest_record_seconds{{{QUEUE}}}": "7200x120"},
        OF_GROUP,
        # Old, since it is scheduled for later; another is young.
        {
            f"tidelog_share_group_oldest_record_seconds{{{QUEUE}}}": "7200x120",
            f"tidelog_share_group_scheduled_records{{{QUEUE}}}": "1x120",
            f"tidelog_share_group_delayed_records{{{QUEUE}}}": "0x120",
            f'tidelog_share_group_oldest_record_seconds{{{BROKER},group="quick",topic="orders"}}': "30x120",
        },
    ),
    Case(
        "TidelogQueueLocksTimeOut",
        {
            f"tidelog_share_lock_timeouts_total{{{BROKER}}}": "0+200x120",
            f"tidelog_share_deliveries_total{{{BROKER}}}": "0+1000x120",
        },
        OF_CLUSTER,
        {
            f"tidelog_share_lock_timeouts_total{{{BROKER}}}": "0+20x120",
            f"tidelog_share_deliveries_total{{{BROKER}}}": "0+1000x120",
        },
    ),
]

CASES = [*BROKERS, *CONTROLLERS, *REPLICATION, *STORAGE, *REQUESTS, *READERS, *QUEUES]
