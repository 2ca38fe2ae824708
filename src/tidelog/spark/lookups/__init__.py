"""Small files and compacted topics to join streams with."""
