"""Decisions on brokers: registration, heartbeats, log dirs, features, producer ids."""
