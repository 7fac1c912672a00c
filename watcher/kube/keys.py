"""Every key that Reprieve writes to a cluster, or reads there as its own; nowhere else spelt."""

PREFIX = "reprieve.dev/"
"""What we may change on an object: nothing else is ours, but for a cordon that we have noted."""

STATE = PREFIX + "state"
"""Annotation of a Node: for which notice and boot what was done to it, so that it can be undone."""

NOTICE = PREFIX + "notice"
"""Annotation of a Node: what the relay has heard about it. Nobody else writes it."""

DRILL = PREFIX + "drill"
"""Annotation of a Node: when a drill of its trainers was asked for, and its window in seconds. We
never write it."""

RECLAIM = PREFIX + "reclaim"
"""Taint of a Node that the cloud is about to take; its value is the kind of the notice."""

EVICT = PREFIX + "evict"
"""Annotation of a pod, set by its owner: ``never``, ``last`` or ``now``."""

TRAINER = PREFIX + "trainer"
"""Annotation of a pod in which a trainer runs that can't say so itself."""

CONDITION = "ReclaimPending"
"""Condition of a Node with a notice in force; a condition's type has no prefix by custom."""

NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"
"""Label that takes a Node out of load balancers, whatever its value. Source: Kubernetes
documentation, "Well-known labels, annotations and taints" (read 2026-11-30)."""

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Taint of a Node whose machine is off for certain: Kubernetes ends its pods without waiting for
them. Source: Kubernetes documentation, "Well-known labels, annotations and taints" (read
2026-11-30)."""

ENDED_BOOT = PREFIX + "out-of-service"
"""Annotation of a Node that the relay has taken out of service: which boot of it has ended."""
