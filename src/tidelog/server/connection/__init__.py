"""One client connection: bytes in, frames, answers out, within limits."""
