"""From a frame to its reply: dispatch, the order of requests, and requests that wait."""
