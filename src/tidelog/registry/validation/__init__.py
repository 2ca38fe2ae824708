"""Schemas of produced records: where a record names its schema, and whether the subject is the right one."""
