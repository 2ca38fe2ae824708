"""Queues on share groups, for threads and for asyncio: each job goes to one worker."""
