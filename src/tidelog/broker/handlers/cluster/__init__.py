"""The cluster, its quorum, its brokers and their log dirs, as clients and operators see them."""
