"""Share groups: their members, records and acknowledgements, their state and offsets."""
