"""Share groups (KIP-932): members that share partitions, and which partitions have share state."""
