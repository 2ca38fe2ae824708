"""The asyncio shell: listeners, connections, buffers, disk threads, tickers."""
