"""Share groups at a partition: which records are delivered, held, done, or due later. Pure decisions."""
