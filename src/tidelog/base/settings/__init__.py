"""The broker's settings, one file a theme. `tidelog.base.broker_settings` joins them into one table."""
