"""Requests of every API, each with what its handler asks the authorizer about: tests walk all of them.

They speak of the topic `orders`, the group `readers` and the transactional id `payments`.
"""
