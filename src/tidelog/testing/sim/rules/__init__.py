"""What must hold in every run, checked after every step."""
