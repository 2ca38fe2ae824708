"""The one HTTP shell: an ASGI server on the broker's own loop, with limits, and the apps that it serves."""
