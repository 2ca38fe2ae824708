"""How two JSON schemas differ, by Confluent's rules: objects, arrays, values, and combinations of schemas."""
