"""Plain produce requests in C, where it was built; the Python of `requests` is its reference."""
