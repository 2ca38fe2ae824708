"""Requests over our own codec, for what librdkafka does not offer."""
