"""What is wrong with a pipeline before it runs: sources, sinks, rules, options and encodings."""
