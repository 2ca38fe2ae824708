"""A broker: real ports wired to the rooms, started and stopped in order. Nothing else wires them."""
