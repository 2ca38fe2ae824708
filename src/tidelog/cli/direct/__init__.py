"""Requests that librdkafka does not offer, sent by our own blocking client, with errors for people."""
