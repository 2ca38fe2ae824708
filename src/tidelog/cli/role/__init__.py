"""`tidelog role`: named sets of permissions, granted to principals."""
