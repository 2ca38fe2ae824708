"""Queues side by side: share groups of Tidelog and of Apache Kafka, and RabbitMQ's quorum queues.

share.py       a member of a share group over a bare socket, and its group
amqp.py        what is spoken with RabbitMQ
quorum.py      RabbitMQ with quorum queues as one of the systems
jobs.py        the same two loads for each of them: drain a queue, and serve one that is written to
workloads.py, page.py   what is measured, and the table of docs/benchmarks.md
"""
