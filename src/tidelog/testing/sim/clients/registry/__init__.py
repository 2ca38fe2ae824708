"""Simulated clients of the schema registry, at any broker, which write down what they do and hear."""
