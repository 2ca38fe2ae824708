"""`tidelog group`: consumer groups, their members, lag and offsets."""
