"""The `tidelog` command: a directory for each group of commands, and what all commands share.

Start-up time is a feature: `main` imports click alone, a command's module is imported when it runs,
and rich and confluent-kafka are imported inside the functions that need them.
"""
