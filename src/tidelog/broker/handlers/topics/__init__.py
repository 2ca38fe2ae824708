"""Topics and partitions: create, grow, delete, describe, move, elect leaders."""
