"""The cluster: whether it is well, and where its work is."""

from tidelog.monitoring.dashboards.dashboard import JOB, Dashboard, Row
from tidelog.monitoring.dashboards.panel import GREEN, ORANGE, RED, Panel, Query, figure, graph

GLANCE = Row(
    "At a glance",
    (
        figure(
            "Brokers that answer",
            "Targets of this job that Prometheus can scrape.",
            'sum(up{job="$job"})',
            (1, GREEN),
            base=RED,
        ),
        figure(
            "Ready brokers",
            "Brokers whose /readyz says that they serve clients.",
            'sum(tidelog_ready{job="$job"})',
            (1, GREEN),
            base=RED,
        ),
        figure(
            "Controllers",
            "Exactly one is right.",
            'sum(tidelog_active_controller{job="$job"})',
            (1, GREEN),
            (2, RED),
            base=RED,
        ),
        figure(
            "Offline partitions",
            "Partitions without a leader: neither read nor written.",
            'max(tidelog_offline_partitions{job="$job"})',
            (1, RED),
        ),
        figure(
            "Under min ISR",
            "Partitions that refuse acks=all.",
            'sum(tidelog_under_min_isr_partitions{job="$job"})',
            (1, RED),
        ),
        figure(
            "Under-replicated",
            "Partitions with fewer in-sync replicas than replicas.",
            'sum(tidelog_under_replicated_partitions{job="$job"})',
            (1, ORANGE),
        ),
        figure("Topics", "Topics of the cluster.", 'max(tidelog_topics{job="$job"})'),
        figure("Partitions", "Partitions of all topics.", 'max(tidelog_partitions{job="$job"})'),
        Panel(
            "Firing alerts",
            "What Prometheus complains about now; the runbook of each is in docs/runbooks.",
            "short",
            (Query('sum by (alertname, severity, instance) (ALERTS{job="$job",alertstate="firing"})'),),
            kind="table",
            width=24,
            height=6,
        ),
    ),
)
TRAFFIC = Row(
    "Traffic",
    (
        graph(
            "Bytes in",
            "Bytes of record batches that producers sent, by broker.",
            "Bps",
            (
                'sum by (instance) (rate(tidelog_topic_received_bytes_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
            stacked=True,
        ),
        graph(
            "Bytes out",
            "Bytes of record batches that consumers fetched, by broker.",
            "Bps",
            (
                'sum by (instance) (rate(tidelog_topic_sent_bytes_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
            stacked=True,
        ),
        graph(
            "Records in",
            "Records that producers sent, by broker.",
            "cps",
            (
                "sum by (instance) "
                '(rate(tidelog_topic_received_records_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
            stacked=True,
        ),
        graph(
            "Requests",
            "Requests answered, by API.",
            "reqps",
            ('sum by (api) (rate(tidelog_requests_total{job="$job"}[$__rate_interval]))', "{{api}}"),
        ),
        graph(
            "Errors",
            "Answers with an error, by API and error. Some are everyday, such as a group that rebalances.",
            "reqps",
            (
                'sum by (api, error) (rate(tidelog_request_errors_total{job="$job"}[$__rate_interval]))',
                "{{api}} {{error}}",
            ),
        ),
        graph(
            "Produce and Fetch, 99th percentile",
            "From the arrival of a request to its answer. A fetch waits for records, up to the client's "
            "limit.",
            "s",
            (
                "histogram_quantile(0.99, sum by (api, le) (rate(tidelog_request_seconds_bucket"
                '{job="$job",api=~"Produce|Fetch"}[$__rate_interval])))',
                "{{api}}",
            ),
        ),
    ),
)
REPLICATION = Row(
    "Replication",
    (
        graph(
            "Leaders",
            "Partitions that each broker leads. Even lines are good.",
            "short",
            ('tidelog_leaders{job="$job"}', "{{instance}}"),
        ),
        graph(
            "Under-replicated partitions",
            "By leader.",
            "short",
            ('tidelog_under_replicated_partitions{job="$job"}', "{{instance}}"),
            steps=((1, ORANGE),),
        ),
        graph(
            "Changes of in-sync sets",
            "Replicas that left and joined, by leader. Both at once again and again: followers are just "
            "too slow.",
            "cps",
            (
                'sum by (instance) (rate(tidelog_isr_shrinks_total{job="$job"}[$__rate_interval]))',
                "{{instance}} shrinks",
            ),
            (
                'sum by (instance) (rate(tidelog_isr_expands_total{job="$job"}[$__rate_interval]))',
                "{{instance}} expands",
            ),
        ),
        graph(
            "Slowest follower",
            "How far the slowest follower on each broker is behind its leader, in records.",
            "short",
            ('tidelog_replica_lag_records_max{job="$job"}', "{{instance}}"),
        ),
        graph(
            "Replication traffic",
            "Bytes that followers fetched, by the broker that received them.",
            "Bps",
            (
                "sum by (instance) "
                '(rate(tidelog_replication_received_bytes_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
        ),
        graph(
            "Changes of leaders",
            "Leaders of partitions that changed, and those elected from outside the in-sync set.",
            "cps",
            ('max(rate(tidelog_leader_elections_total{job="$job"}[$__rate_interval]))', "elections"),
            ('max(rate(tidelog_unclean_elections_total{job="$job"}[$__rate_interval]))', "unclean"),
        ),
    ),
)
CONTROLLER = Row(
    "Controller and quorum",
    (
        graph(
            "Term",
            "Rises with each election of a controller.",
            "short",
            ('max(tidelog_raft_term{job="$job"})', "term"),
        ),
        graph(
            "Metadata not applied yet",
            "Committed entries of the metadata that a broker has not applied.",
            "short",
            (
                'tidelog_raft_commit_index{job="$job"} - tidelog_raft_applied_index{job="$job"}',
                "{{instance}}",
            ),
        ),
        graph(
            "Lag of voters",
            "Entries that each voter is behind, as the controller sees it.",
            "short",
            ('max by (broker) (tidelog_raft_voter_lag_entries{job="$job"})', "broker {{broker}}"),
            steps=((1000, ORANGE),),
        ),
    ),
)
DISKS = Row(
    "Disks",
    (
        graph(
            "Free",
            "The free share of each disk with a log dir.",
            "percentunit",
            (
                'tidelog_log_dir_free_bytes{job="$job"} / tidelog_log_dir_total_bytes{job="$job"}',
                "{{instance}} {{log_dir}}",
            ),
        ),
        graph(
            "Logs",
            "Bytes of all logs in each log dir.",
            "bytes",
            ('tidelog_log_dir_log_bytes{job="$job"}', "{{instance}} {{log_dir}}"),
        ),
        graph(
            "Free in six hours",
            "At the pace of the last hour. Below zero the disk is full by then.",
            "bytes",
            (
                'predict_linear(tidelog_log_dir_free_bytes{job="$job"}[1h], 6 * 3600)',
                "{{instance}} {{log_dir}}",
            ),
            lowest=None,
        ),
    ),
)

CLUSTER = Dashboard(
    "cluster",
    "cluster",
    "Whether a cluster is well: brokers, leaders, replicas, the controller, traffic and disks.",
    (JOB,),
    (GLANCE, TRAFFIC, REPLICATION, CONTROLLER, DISKS),
)
