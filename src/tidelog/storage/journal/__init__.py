"""The journal of a log dir: one sync for the newest batches of many logs, and its replay after a crash."""
