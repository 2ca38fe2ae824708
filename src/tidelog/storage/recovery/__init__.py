"""Opening a log after a stop or a crash: what is whole, what was torn, what was lost."""
