"""Configuration: load it, look values up, check changes, describe it to clients."""
