"""Queues: share groups at their coordinators and at the leaders of their partitions."""

from tidelog.monitoring.dashboards.dashboard import JOB, Dashboard, Row, Variable
from tidelog.monitoring.dashboards.panel import ORANGE, RED, graph

GROUP = Variable(
    "group",
    "Share group",
    'label_values(tidelog_share_group_depth_records{job="$job"}, group)',
    many=True,
)
_OF_GROUP = '{job="$job",group=~"$group"}'
_RATE = '{job="$job"}[$__rate_interval]'

BACKLOG = Row(
    "Backlog",
    (
        graph(
            "Depth",
            "Records that a group has not finished, with or without members.",
            "short",
            (f"sum by (group, topic) (tidelog_share_group_depth_records{_OF_GROUP})", "{{group}} {{topic}}"),
            width=12,
        ),
        graph(
            "Oldest record",
            "How long the oldest record that a group has not finished has waited.",
            "s",
            (
                f"max by (group, topic) (tidelog_share_group_oldest_record_seconds{_OF_GROUP})",
                "{{group}} {{topic}}",
            ),
            steps=((900, ORANGE), (3600, RED)),
            width=12,
        ),
    ),
)
RECORDS = Row(
    "Records",
    (
        graph(
            "In flight",
            "Records that members hold.",
            "short",
            (
                f"sum by (group, topic) (tidelog_share_group_acquired_records{_OF_GROUP})",
                "{{group}} {{topic}}",
            ),
        ),
        graph(
            "Waiting for their time",
            "Records that are scheduled, or delayed until their retry.",
            "short",
            (
                f"sum by (group, topic) (tidelog_share_group_scheduled_records{_OF_GROUP})",
                "{{group}} {{topic}} scheduled",
            ),
            (
                f"sum by (group, topic) (tidelog_share_group_delayed_records{_OF_GROUP})",
                "{{group}} {{topic}} delayed",
            ),
        ),
        graph(
            "Waiting for the dead-letter topic",
            "Records that a group gave up on. A line that stays: the topic does not take them.",
            "short",
            (
                f"sum by (group, topic) (tidelog_share_group_archiving_records{_OF_GROUP})",
                "{{group}} {{topic}}",
            ),
            steps=((1, ORANGE),),
        ),
    ),
)
WORK = Row(
    "Work",
    (
        graph(
            "Deliveries",
            "Records delivered a second; those that came before are redeliveries.",
            "cps",
            (f"sum(rate(tidelog_share_deliveries_total{_RATE}))", "deliveries"),
            (f"sum(rate(tidelog_share_redeliveries_total{_RATE}))", "redeliveries"),
        ),
        graph(
            "Acknowledgements",
            "Records acknowledged a second, by type.",
            "cps",
            (f"sum by (type) (rate(tidelog_share_acknowledgements_total{_RATE}))", "{{type}}"),
        ),
        graph(
            "Lock timeouts",
            "Records a second that were not acknowledged in time, and come again.",
            "cps",
            (f"sum by (instance) (rate(tidelog_share_lock_timeouts_total{_RATE}))", "{{instance}}"),
        ),
        graph(
            "Dead letters",
            "Written a second, and tries that failed.",
            "cps",
            (f"sum(rate(tidelog_share_dead_letters_total{_RATE}))", "written"),
            (f"sum(rate(tidelog_share_dead_letter_failures_total{_RATE}))", "failed tries"),
        ),
        graph(
            "Share sessions",
            "Members that fetch from each broker.",
            "short",
            ('sum by (instance) (tidelog_share_sessions{job="$job"})', "{{instance}}"),
        ),
        graph(
            "Saves of state",
            "Writes of share state a second, and those that failed. Many acknowledgements share a save.",
            "cps",
            (f"sum(rate(tidelog_share_state_saves_total{_RATE}))", "saves"),
            (f"sum(rate(tidelog_share_state_save_failures_total{_RATE}))", "failed"),
        ),
    ),
)

QUEUES = Dashboard(
    "queues",
    "queues",
    "Depth, work, retries and dead letters of share groups.",
    (JOB, GROUP),
    (BACKLOG, RECORDS, WORK),
)
