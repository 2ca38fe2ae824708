"""The producers, for threads and for asyncio, with and without transactions."""
