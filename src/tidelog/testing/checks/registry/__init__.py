"""The single checks of the schema registry; `tidelog.testing.registry_checkers` runs them all."""
