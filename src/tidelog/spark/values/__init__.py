"""Record values as columns: text, JSON, Avro, Protobuf, read and written."""
