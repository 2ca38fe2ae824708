"""Schemas as outlines: each field under its path, with its type and what else matters, and how two differ."""
