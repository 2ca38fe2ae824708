"""`tidelog service`: a broker as a service of systemd, which starts it, watches it and stops it."""
