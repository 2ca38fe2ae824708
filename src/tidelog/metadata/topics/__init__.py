"""Decisions on topics: create, grow, delete, place."""
