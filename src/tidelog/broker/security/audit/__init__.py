"""The audit record at work: events become lines, and lines go to a file with rotation and to a topic."""
