"""One small file per API key."""
