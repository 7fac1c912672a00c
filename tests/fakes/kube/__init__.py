"""An API server of Kubernetes on loopback, as a model: one file a concern, no code of ours in it.

It does what was measured on a real kube-apiserver 1.36 (kubernetes-facts.md), and the real kubectl
works against it. Controllers, scheduler and kubelet are played by the test.

:func:`server.fake_api_server` runs it: ``cluster`` puts objects there and ends pods as a kubelet,
``access`` has the tokens, their rights and every call, ``faults`` spoils requests, ``order`` has
the open watches do something, and ``away`` and ``back`` take the server itself away.
"""
