"""Groups of every kind: their members and their committed offsets."""
