"""Decisions on settings of topics, groups, client metrics subscriptions and brokers."""
