"""The audit record: what an event says, one JSON line each, and how repeated events are counted."""
