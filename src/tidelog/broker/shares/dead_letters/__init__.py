"""Dead letters at work: records that a share group gave up on are written to its dead-letter topic, once."""
