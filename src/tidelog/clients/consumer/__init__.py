"""The consumers, for threads and for asyncio."""
