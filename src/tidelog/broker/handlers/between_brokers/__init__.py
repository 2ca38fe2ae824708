"""Requests that only brokers send to each other."""
