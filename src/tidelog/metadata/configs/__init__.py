"""Decisions on settings of topics, groups and brokers."""
