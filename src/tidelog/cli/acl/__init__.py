"""`tidelog acl`: what principals may do, rule by rule, and why a request is allowed or refused."""
