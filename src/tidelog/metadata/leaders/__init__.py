"""Decisions on leaders and replicas: elections, in-sync sets, reassignment, balance."""
