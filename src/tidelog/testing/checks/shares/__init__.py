"""The single checks of share groups; `tidelog.testing.share_checkers` runs them all."""
