"""The simulated cluster: its machines and clients, a view into its brokers, and when it has converged."""
