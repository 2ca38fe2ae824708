"""The simulated network: paths between machines, connections, servers, and requests that arrive late."""
