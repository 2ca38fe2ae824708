"""A whole cluster of real brokers with its clients in one thread, on virtual time, driven by one seed."""
