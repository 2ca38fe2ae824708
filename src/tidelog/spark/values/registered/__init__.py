"""Values with a schema registry: the schema that records are read as, and each record's own by its id."""
