"""From a frame to its answer: dispatch, the order of requests, and requests that wait."""
