"""A blocking client of the brokers: connections, security, offsets, producing, transactions."""
