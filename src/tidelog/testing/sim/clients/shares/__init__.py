"""Simulated members of share groups, their administrator, and producers of scheduled records."""
