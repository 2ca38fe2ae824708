"""Clients' own metrics: which of them a client pushes, and the pushes (KIP-714)."""
