"""Queues of single nodes: how they are named, filled from a topic, made and removed.

For virtual machines without Kubernetes; a cluster has one queue and a relay instead.
"""
