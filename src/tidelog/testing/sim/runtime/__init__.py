"""What a simulated process runs on: virtual time, an event loop, threads and a disk in memory."""
