"""The broker's side of SASL: conversations that take a client's bytes, answer, and end with a principal."""
