"""Spark itself: its Java, its session, its Python workers."""
