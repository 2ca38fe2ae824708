"""Scheduled records at work: share groups get them when their time has come, by the clock of the leader."""
