"""A blocking Kafka client on our own codec, which Spark and the command line share."""
