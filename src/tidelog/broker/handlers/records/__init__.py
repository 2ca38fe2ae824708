"""Produce, Fetch, and requests about the records of partitions."""
