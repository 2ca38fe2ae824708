"""Schemas, subjects, versions, references and compatibility: the schema registry as pure decisions."""
