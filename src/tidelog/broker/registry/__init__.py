"""The schema registry at work: the leader of `_schemas` answers every call, whichever broker was asked."""
