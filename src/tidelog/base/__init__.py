"""Ids, error codes, invariant(), ports and the settings table: what every other room may lean on."""
