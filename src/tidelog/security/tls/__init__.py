"""TLS: keys and certificates from files or texts, contexts made of them, and an authority to issue them."""
