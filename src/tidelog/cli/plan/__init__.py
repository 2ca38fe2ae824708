"""`tidelog plan`: how many machines, disks and partitions a load needs."""
