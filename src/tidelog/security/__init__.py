"""Security as pure decisions: principals, ACLs and roles, SCRAM and tokens, quotas. No sockets, no clock."""
