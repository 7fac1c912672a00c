"""The few calls of the Kubernetes API that a node needs, over plain aiohttp.

Why no client library. Footprint: the daemon has aiohttp anyway and is to stay under 64 MB; a watch
of lightkube's adds 10 MB, the generated clients 25 MB and more. Token rotation: a bound token is
good for an hour, so its file is read again, in one place here, and on every 401. Readability: it is
one Node, the pods on it and a few verbs, and each can be read whole, with its time limit and its
errors, where a library adds typed models of a thousand fields and retries of its own.
"""
