"""`tidelog queue`: share groups as queues: what waits, what is in flight, what came to nothing."""
