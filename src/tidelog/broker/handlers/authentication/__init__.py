"""Authentication: SASL, users and their SCRAM credentials, delegation tokens."""
