"""`tidelog doctor`: what is wrong with a running cluster or a stopped log dir, and what to do."""
