"""The transaction coordinator: which transactions there are, how far each is, who has yet to be told."""
