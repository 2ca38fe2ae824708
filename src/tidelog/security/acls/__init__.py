"""Access control lists with Kafka's model: which principal may do what, with which resources, from where."""
