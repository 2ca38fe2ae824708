"""`tidelog security`: certificates, users and tokens of a cluster, and what is open in it."""
