"""The dashboards, one file each, and the panels they are made of."""
