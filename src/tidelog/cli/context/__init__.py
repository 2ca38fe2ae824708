"""`tidelog context`: named clusters with their client settings, in one file of the user."""
