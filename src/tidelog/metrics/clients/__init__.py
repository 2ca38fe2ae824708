"""Clients' own metrics (KIP-714): who pushes what, how often, and what the pushed bytes say."""
