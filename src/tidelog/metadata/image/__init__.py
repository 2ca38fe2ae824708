"""The cluster image: what all metadata records add up to."""
