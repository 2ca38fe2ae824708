"""A blocking client of any registry with Confluent's REST API, and records decoded by their schema ids."""
