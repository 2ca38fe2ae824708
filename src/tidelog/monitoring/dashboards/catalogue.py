"""Every dashboard."""

from tidelog.monitoring.dashboards.broker import BROKER
from tidelog.monitoring.dashboards.cluster import CLUSTER
from tidelog.monitoring.dashboards.groups import GROUPS
from tidelog.monitoring.dashboards.pipelines import PIPELINES
from tidelog.monitoring.dashboards.queues import QUEUES
from tidelog.monitoring.dashboards.topics import TOPICS

DASHBOARDS = (CLUSTER, TOPICS, GROUPS, QUEUES, BROKER, PIPELINES)
