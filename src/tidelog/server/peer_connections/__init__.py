"""TCP connections that this broker opens to other brokers; `broker/peers` sends requests over them."""
