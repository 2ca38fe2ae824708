"""`tidelog broker --cores N`: the supervisor of a machine's brokers, one process for each core."""
