"""`tidelog schema`: schemas of a registry, registered, compared, checked before a deploy, and moved."""
