"""Quotas with Kafka's model: which limit applies to a user and client id, and how long to throttle."""
