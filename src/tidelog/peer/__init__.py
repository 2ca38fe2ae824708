"""One broker's requests to another: numbered, encoded, and matched with their answers."""
