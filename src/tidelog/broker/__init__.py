"""Requests in, responses out: dispatch, one handler file per API, delayed produce and fetch."""
