"""Transactions: begin, take part, end, look."""
