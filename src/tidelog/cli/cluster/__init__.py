"""`tidelog cluster`: brokers, the quorum, balance, and leaders."""
