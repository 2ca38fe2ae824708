"""`tidelog client-metrics`: which clients push which of their own metrics (KIP-714)."""
