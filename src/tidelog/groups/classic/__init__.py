"""Groups that speak JoinGroup and SyncGroup: the leader among the members makes the assignment."""
