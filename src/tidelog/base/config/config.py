"""The front door to configuration: load it, look values up, check changes, describe it to clients.

config = load("config/broker.yaml", os.environ, {"node.id": "3"})
config.int("log.segment.bytes")
topic = TopicConfig(parse_topic_overrides({"retention.ms": "60000"}), config)
"""

from tidelog.base.config.broker_config import BrokerConfig, parse_broker_overrides
from tidelog.base.config.describe import (
    ConfigEntry,
    Synonym,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.config.load import load
from tidelog.base.config.topic_config import TopicConfig, parse_topic_overrides, resolve_topic
from tidelog.base.config.values import ConfigSource

__all__ = [
    "BrokerConfig",
    "ConfigEntry",
    "ConfigError",
    "ConfigSource",
    "Problem",
    "Synonym",
    "TopicConfig",
    "describe_broker",
    "describe_client_metrics",
    "describe_cluster_defaults",
    "describe_group",
    "describe_topic",
    "load",
    "parse_broker_overrides",
    "parse_topic_overrides",
    "resolve_topic",
]
