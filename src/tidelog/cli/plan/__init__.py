"""`tidelog plan`: how many brokers, disks and partitions a load needs."""
