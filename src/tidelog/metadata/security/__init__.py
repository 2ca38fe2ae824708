"""Decisions on security: ACLs, roles, SCRAM credentials, quotas, delegation tokens."""
