"""`tidelog txn` and `tidelog topic producers`: open transactions, and how to end them."""
