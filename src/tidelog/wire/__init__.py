"""The Kafka wire protocol: schema table to codec, primitives, record batches, compression."""
