"""Tidelog: a message queue that speaks the Kafka protocol, written in Python."""

__version__ = "0.1.0"
