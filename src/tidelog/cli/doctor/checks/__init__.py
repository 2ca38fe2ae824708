"""The single checks of `tidelog doctor`: each turns facts into findings, and asks nothing itself."""
