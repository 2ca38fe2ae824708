"""Scheduled records: when each is due, in bounded memory, and what their headers say."""
