"""Schemas of produced records at work: what is known to pass, what the leader is asked, and what waits."""
