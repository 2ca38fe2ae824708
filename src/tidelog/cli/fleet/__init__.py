"""`tidelog up --brokers N`: the supervisor of several brokers on one machine."""
