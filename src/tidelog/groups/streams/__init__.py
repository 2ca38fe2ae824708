"""Groups of Kafka Streams instances (KIP-1071): the coordinator knows the topology, and hands out tasks."""
