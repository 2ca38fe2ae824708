"""Collectors of the broker's metrics: each reads what a part knows, at the moment of a scrape."""
