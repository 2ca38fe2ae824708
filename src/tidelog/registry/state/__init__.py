"""The registry's state: a shard on `_schemas` in Confluent's record format, and decisions on it."""
