"""`tidelog topic`: create, list, describe, alter, delete."""
