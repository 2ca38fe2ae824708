"""What can go wrong, each as a function that makes it so, waits, and undoes it."""
