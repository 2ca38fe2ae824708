"""The registry's REST API, one small file a resource: a call becomes an answer of Confluent's shape."""
