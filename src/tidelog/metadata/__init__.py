"""What the cluster knows: metadata records, the immutable image, decisions that change it."""
