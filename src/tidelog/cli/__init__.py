"""The tidelog command, one file per command group."""
