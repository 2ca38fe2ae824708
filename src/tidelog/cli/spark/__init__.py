"""`tidelog pipeline` and `tidelog lake`: the commands that run Spark."""
