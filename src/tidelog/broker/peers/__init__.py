"""This broker's requests to the other brokers."""
