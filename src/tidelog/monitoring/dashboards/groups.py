"""Consumer groups and transactions, at their coordinators."""

from tidelog.monitoring.dashboards.dashboard import JOB, Dashboard, Row, Variable
from tidelog.monitoring.dashboards.panel import ORANGE, RED, graph

GROUP = Variable("group", "Group", 'label_values(tidelog_group_members{job="$job"}, group)', many=True)

LAG = Row(
    "Lag",
    (
        graph(
            "Lag in records",
            "Records between the committed offsets of a group and the ends of its partitions.",
            "short",
            (
                'sum by (group, topic) (tidelog_group_lag_records{job="$job",group=~"$group"})',
                "{{group}} {{topic}}",
            ),
            width=12,
        ),
        graph(
            "Lag in seconds",
            "How late a group reads: the worst partition of each topic.",
            "s",
            (
                'max by (group, topic) (tidelog_group_lag_seconds{job="$job",group=~"$group"})',
                "{{group}} {{topic}}",
            ),
            steps=((600, RED),),
            width=12,
        ),
        graph(
            "Partitions with the most lag",
            "One line far above the others: a slow member, or a record that is processed again and again.",
            "short",
            (
                'topk(20, tidelog_group_lag_records{job="$job",group=~"$group"})',
                "{{group}} {{topic}}-{{partition}}",
            ),
            width=12,
        ),
        graph(
            "Consumed",
            "Records a second, by the offsets that groups commit.",
            "cps",
            (
                "sum by (group, topic) (deriv(tidelog_group_committed_offset"
                '{job="$job",group=~"$group"}[$__rate_interval]))',
                "{{group}} {{topic}}",
            ),
            width=12,
        ),
    ),
)
GROUPS_ROW = Row(
    "Groups",
    (
        graph(
            "Members",
            "Members of each group.",
            "short",
            ('sum by (group) (tidelog_group_members{job="$job",group=~"$group"})', "{{group}}"),
        ),
        graph(
            "Groups by state",
            "All groups of the cluster.",
            "short",
            ('sum by (type, state) (tidelog_groups{job="$job"})', "{{type}} {{state}}"),
            stacked=True,
        ),
        graph(
            "Rebalances",
            "Generations and epochs that groups went through.",
            "cps",
            (
                'sum by (instance) (rate(tidelog_group_rebalances_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
        ),
        graph(
            "Commits",
            "Committed offsets a second, one a partition.",
            "cps",
            (
                'sum by (instance) (rate(tidelog_offset_commits_total{job="$job"}[$__rate_interval]))',
                "{{instance}}",
            ),
        ),
        graph(
            "Coordinators",
            "Partitions of the internal topics, by state. A failed one coordinates nothing.",
            "short",
            ('sum by (topic, state) (tidelog_coordinator_shards{job="$job"})', "{{topic}} {{state}}"),
        ),
        graph(
            "Longest load of a coordinator",
            "How long groups or transactions waited after their coordinator moved.",
            "s",
            ('max by (topic) (tidelog_coordinator_load_seconds_max{job="$job"})', "{{topic}}"),
        ),
    ),
)
TRANSACTIONS = Row(
    "Transactions",
    (
        graph(
            "Transactional ids by state",
            "Ongoing ones are open.",
            "short",
            ('sum by (state) (tidelog_transactions{job="$job"})', "{{state}}"),
            stacked=True,
        ),
        graph(
            "Ended",
            "Transactions that ended, by outcome.",
            "cps",
            (
                'sum by (outcome) (rate(tidelog_transactions_ended_total{job="$job"}[$__rate_interval]))',
                "{{outcome}}",
            ),
        ),
        graph(
            "Oldest open transaction",
            "Consumers of committed records wait for its end.",
            "s",
            ('max(tidelog_transaction_oldest_open_seconds{job="$job"})', "age"),
            steps=((900, ORANGE), (1800, RED)),
        ),
    ),
)

GROUPS = Dashboard(
    "groups",
    "groups",
    "Lag, members and states of consumer groups; transactions.",
    (JOB, GROUP),
    (LAG, GROUPS_ROW, TRANSACTIONS),
)
