"""The single checks of a history; `tidelog.testing.checkers` runs them all."""
