"""The runtime of every coordinator: loads a shard from its log, serves it, moves it with the leader.

A new coordinator is a pure shard (`tidelog.coordination.shard.Shard`) and one `Registration`; see
docs/coordinators.md.
"""
