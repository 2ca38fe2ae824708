"""Dead letters of queues: shown with their reasons, and put back, each once, whatever is interrupted."""
