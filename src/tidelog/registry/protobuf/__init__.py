"""Protobuf schemas: parsed, given back in canonical form, and compared as a reader and a writer."""
