"""Tidelog beside Apache Kafka and the machine's own limit: one command, one run, ratios."""
