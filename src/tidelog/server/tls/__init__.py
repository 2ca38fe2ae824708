"""TLS under a connection: handshakes beside the event loop, then a transport and a writer."""
