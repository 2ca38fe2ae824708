"""Followers fetch from leaders, and leaders keep the in-sync sets."""
