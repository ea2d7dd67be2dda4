"""Kafka's own brokers with real logs: runs of the models and of the controller, executed on a cluster of processes."""
