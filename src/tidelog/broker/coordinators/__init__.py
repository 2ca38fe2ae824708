"""Coordinators at work: each partition of an internal topic is a shard, served where this broker leads it."""
