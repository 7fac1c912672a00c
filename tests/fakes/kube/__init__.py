"""An API server of Kubernetes on loopback, as a model: one file a concern, no code of ours in it.

It does what was measured on a real kube-apiserver 1.36 (kubernetes-facts.md), and the real kubectl
works against it. Controllers, scheduler and kubelet are played by the test; see :mod:`cluster`.
"""
