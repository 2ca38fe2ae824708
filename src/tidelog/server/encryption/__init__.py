"""Encrypted log dirs at work: key encryption keys out of a file or a key management service."""
