"""Serializers and deserializers by schemas of a registry: Avro, JSON Schema and Protobuf."""
