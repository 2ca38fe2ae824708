"""One broker: where the time of its requests goes, and what its process, memory and disks do."""

from tidelog.monitoring.dashboards.dashboard import JOB, Dashboard, Row, Variable
from tidelog.monitoring.dashboards.panel import GREEN, ORANGE, RED, figure, graph

CHOSEN = Variable("broker", "Broker", 'label_values(tidelog_info{job="$job"}, instance)')
_IT = 'job="$job",instance="$broker"'
_PRODUCE = f'{_IT},api="Produce"'

STATE = Row(
    "State",
    (
        figure("Ready", "1 while it serves clients.", f"tidelog_ready{{{_IT}}}", (1, GREEN), base=RED),
        figure("Controller", "1 on the controller.", f"tidelog_active_controller{{{_IT}}}"),
        figure("Leaders", "Partitions that it leads.", f"tidelog_leaders{{{_IT}}}"),
        figure("Replicas", "Replicas that it has.", f"tidelog_replicas{{{_IT}}}"),
        figure(
            "Damaged",
            "Replicas whose log cannot be read or written.",
            f"tidelog_damaged_partitions{{{_IT}}}",
            (1, RED),
        ),
        figure(
            "Runs for",
            "Since the process started.",
            f"time() - process_start_time_seconds{{{_IT}}}",
            unit="s",
        ),
        figure(
            "Logs opened",
            "The share of logs that this start has opened.",
            f'tidelog_recovery_logs{{{_IT},state="done"}} / ignoring (state) '
            f'tidelog_recovery_logs{{{_IT},state="total"}}',
            unit="percentunit",
        ),
        figure("In flight", "Requests that wait for their answer.", f"tidelog_requests_in_flight{{{_IT}}}"),
    ),
)
REQUESTS = Row(
    "Requests",
    (
        graph(
            "Requests",
            "Requests answered, by API.",
            "reqps",
            (f"sum by (api) (rate(tidelog_requests_total{{{_IT}}}[$__rate_interval]))", "{{api}}"),
        ),
        graph(
            "99th percentile by API",
            "From the arrival of a request to its answer.",
            "s",
            (
                "histogram_quantile(0.99, sum by (api, le) "
                f"(rate(tidelog_request_seconds_bucket{{{_IT}}}[$__rate_interval])))",
                "{{api}}",
            ),
        ),
        graph(
            "Where the time of Produce goes",
            "Mean seconds a request: queue, local (this broker and its disk), remote (followers), "
            "throttle, send.",
            "s",
            (
                f"sum by (part) (rate(tidelog_request_part_seconds_sum{{{_PRODUCE}}}[$__rate_interval])) "
                f"/ sum by (part) (rate(tidelog_request_part_seconds_count{{{_PRODUCE}}}[$__rate_interval]))",
                "{{part}}",
            ),
            stacked=True,
        ),
        graph(
            "Errors",
            "Answers with an error.",
            "reqps",
            (
                f"sum by (api, error) (rate(tidelog_request_errors_total{{{_IT}}}[$__rate_interval]))",
                "{{api}} {{error}}",
            ),
        ),
        graph(
            "Network",
            "Bytes from and to clients and brokers.",
            "Bps",
            (f"rate(tidelog_network_received_bytes_total{{{_IT}}}[$__rate_interval])", "in"),
            (f"rate(tidelog_network_sent_bytes_total{{{_IT}}}[$__rate_interval])", "out"),
        ),
        graph(
            "Connections",
            "Open connections by listener.",
            "short",
            (f"sum by (listener) (tidelog_connections{{{_IT}}})", "{{listener}}"),
        ),
        graph(
            "New connections",
            "Accepted, closed after a time limit, and TLS handshakes that failed.",
            "cps",
            (f"sum(rate(tidelog_connections_accepted_total{{{_IT}}}[$__rate_interval]))", "accepted"),
            (f"rate(tidelog_connections_timed_out_total{{{_IT}}}[$__rate_interval])", "timed out"),
            (f"rate(tidelog_tls_handshakes_failed_total{{{_IT}}}[$__rate_interval])", "handshakes failed"),
        ),
        graph(
            "Held back by quotas",
            "Seconds that quotas held requests back, in each second.",
            "s",
            (
                f"sum by (quota) (rate(tidelog_throttle_seconds_total{{{_IT}}}[$__rate_interval]))",
                "{{quota}}",
            ),
        ),
        graph(
            "Clients' own metrics",
            "Clients that push their metrics here (KIP-714).",
            "short",
            (f"tidelog_client_instances{{{_IT}}}", "clients"),
        ),
    ),
)
PROCESS = Row(
    "Process",
    (
        graph(
            "CPU",
            "Cores in use, by the process and by the thread of the event loop.",
            "short",
            (f"rate(process_cpu_seconds_total{{{_IT}}}[$__rate_interval])", "process"),
            (f"rate(tidelog_event_loop_cpu_seconds_total{{{_IT}}}[$__rate_interval])", "event loop"),
            steps=((1, ORANGE),),
        ),
        graph(
            "Event loop lag, 99th percentile",
            "How late the loop runs what is due: every request waits that long.",
            "s",
            (
                "histogram_quantile(0.99, sum by (le) "
                f"(rate(tidelog_event_loop_lag_seconds_bucket{{{_IT}}}[$__rate_interval])))",
                "lag",
            ),
            steps=((0.25, RED),),
        ),
        graph(
            "Garbage collection",
            "Seconds of pauses in each second, by generation.",
            "s",
            (
                f"sum by (generation) (rate(tidelog_gc_pause_seconds_sum{{{_IT}}}[$__rate_interval]))",
                "generation {{generation}}",
            ),
        ),
        graph(
            "Memory",
            "Resident memory, memory in use under the limit of the container or machine, and that limit.",
            "bytes",
            (f"process_resident_memory_bytes{{{_IT}}}", "resident"),
            (f"tidelog_memory_used_bytes{{{_IT}}}", "used"),
            (f"tidelog_memory_limit_bytes{{{_IT}}}", "limit"),
        ),
        graph(
            "Memory of requests",
            "What requests and answers hold of queued.max.request.bytes.",
            "bytes",
            (f"tidelog_memory_held_bytes{{{_IT}}}", "held"),
            (f"tidelog_memory_budget_bytes{{{_IT}}}", "budget"),
        ),
        graph(
            "File descriptors",
            "Open ones and their limit.",
            "short",
            (f"process_open_fds{{{_IT}}}", "open"),
            (f"process_max_fds{{{_IT}}}", "limit"),
        ),
    ),
)
REGISTRY = Row(
    "Schema registry",
    (
        graph(
            "Calls of the schema registry",
            "Calls answered at this broker's port, by method and class of the HTTP status.",
            "reqps",
            (
                "sum by (method, status) "
                f"(rate(tidelog_schema_registry_calls_total{{{_IT}}}[$__rate_interval]))",
                "{{method}} {{status}}",
            ),
        ),
        graph(
            "Calls, 99th percentile",
            "From a call to its answer, the way to the leader of the registry included.",
            "s",
            (
                "histogram_quantile(0.99, sum by (method, le) "
                f"(rate(tidelog_schema_registry_call_seconds_bucket{{{_IT}}}[$__rate_interval])))",
                "{{method}}",
            ),
        ),
        graph(
            "Schemas",
            "What the registry holds; empty unless this broker leads it.",
            "short",
            (f"tidelog_schema_registry_schemas{{{_IT}}}", "versions"),
            (f"tidelog_schema_registry_subjects{{{_IT}}}", "subjects"),
        ),
    ),
)
DISKS = Row(
    "Disks",
    (
        graph(
            "Syncs, 99th percentile",
            "Time of syncs to the disk.",
            "s",
            (
                "histogram_quantile(0.99, sum by (log_dir, le) "
                f"(rate(tidelog_fsync_seconds_bucket{{{_IT}}}[$__rate_interval])))",
                "{{log_dir}}",
            ),
            steps=((0.5, RED),),
        ),
        graph(
            "Appended",
            "Bytes appended to logs, by producers and as a follower.",
            "Bps",
            (f"rate(tidelog_log_appended_bytes_total{{{_IT}}}[$__rate_interval])", "appended"),
        ),
        graph(
            "Jobs that wait for a disk thread",
            "More than a few for long: the disk is the bottleneck.",
            "short",
            (f"tidelog_disk_threads_waiting{{{_IT}}}", "waiting"),
        ),
        graph(
            "Free",
            "Bytes free on the disk of each log dir, and the reserve below which records are refused.",
            "bytes",
            (f"tidelog_log_dir_free_bytes{{{_IT}}}", "{{log_dir}} free"),
            (f"tidelog_log_dir_reserve_bytes{{{_IT}}}", "{{log_dir}} reserve"),
        ),
        graph(
            "Retention and compaction",
            "Bytes that retention deleted and that compaction freed.",
            "Bps",
            (f"rate(tidelog_retention_deleted_bytes_total{{{_IT}}}[$__rate_interval])", "deleted"),
            (f"rate(tidelog_cleaner_freed_bytes_total{{{_IT}}}[$__rate_interval])", "compacted"),
        ),
        graph(
            "Not compacted",
            "The largest share of a compacted log that is not compacted yet.",
            "percentunit",
            (f"tidelog_cleaner_dirty_ratio_max{{{_IT}}}", "share"),
        ),
    ),
)

BROKER = Dashboard(
    "broker",
    "one broker",
    "Where the time of requests goes, and what process, memory and disks of a broker do.",
    (JOB, CHOSEN),
    (STATE, REQUESTS, REGISTRY, PROCESS, DISKS),
)
