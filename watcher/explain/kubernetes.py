"""A Node of Kubernetes: what controllers and the relay have written on it."""

from collections.abc import Mapping
from types import MappingProxyType

from watcher.errors import KubeMalformed, SourceMalformed
from watcher.explain.answer import Answer, Asked, Body, Told
from watcher.kube.keys import NOTICE
from watcher.kube.objects import node_of
from watcher.sources.kubernetes_object import read_marks
from watcher.sources.relayed_notice import Word, parse
from watcher.sources.words import object_with


def _node(body: bytes, asked: Asked) -> Answer:
    """Explain a Node as its own daemon would read it, in the boot that it names."""
    obj = object_with(("metadata",), body, "Node")
    try:
        node = node_of(obj)
    except KubeMalformed as error:
        raise SourceMalformed(str(error)) from error
    marks = read_marks(obj, node, node.boot_id, asked.received)
    text = node.annotations.get(NOTICE)
    word = Word(()) if text is None else parse(text, node, asked.received)
    now = asked.received.wall
    relayed = [one.told.notice for one in word.notices if not one.is_long_over(now)]
    found = tuple(Told(notice) for notice in (*marks, *relayed))
    if not found and word.odd:
        raise SourceMalformed(f"relayed notices: {word.odd}")
    return found or "nothing on the Node says that it is about to go, or it has outlived that"


KUBERNETES_BODIES: Mapping[str, Body] = MappingProxyType(
    {
        "kubernetes-node": Body(
            "what `kubectl get node NAME -o json` prints: the marks on it, and the relay's word",
            _node,
        )
    }
)
"""The body of Kubernetes', by the name on the command line."""
