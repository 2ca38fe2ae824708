"""The Python client: configurations, producers, consumers and administration over confluent-kafka.

Batching, compression, retries, idempotence and metadata are librdkafka's. Users import from `tidelog` itself.
"""
