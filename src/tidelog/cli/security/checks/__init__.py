"""The single checks of `tidelog security check`: each turns what it sees into findings."""
