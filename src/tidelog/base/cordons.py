"""The setting that keeps new replicas away from a broker (KIP-1066), and the one value that it takes here."""

CORDONED_LOG_DIRS = "cordoned.log.dirs"
ALL_LOG_DIRS = "*"
