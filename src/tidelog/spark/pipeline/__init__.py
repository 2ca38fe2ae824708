"""Pipelines: a short YAML file or a Python function that says what to read, what to do, where to write."""
