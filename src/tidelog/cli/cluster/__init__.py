"""`tidelog cluster`: brokers, the quorum, balance, and who leads."""
