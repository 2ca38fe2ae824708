"""Who gets which partitions: pure functions from topics and members to a target assignment."""
