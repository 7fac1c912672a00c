"""A YAML file as trees that know their lines; whoever wrote it, reading it costs little.

The only place that knows PyYAML. Its composer gives nodes with their marks, and makes no objects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml  # type: ignore[import-untyped]  # its stubs would be one more dependency

from trainer_hooks.errors import ConfigError

MAX_BYTES = 512 * 1024
"""Far more than an object that the API server takes is likely to have."""

MAX_DEPTH = 64

MAX_NODES = 50_000
"""Of all documents together, each use of an alias counted."""

Value = str | int | float | bool | None | Mapping[str, "Tree"] | Sequence["Tree"]


@dataclass(frozen=True, slots=True)
class Tree:
    """A value of a manifest, and where it stands."""

    line: int
    """From 1; of what is missing, the line of the nearest thing around it that is there."""
    value: Value = None

    def at(self, *path: str | int) -> "Tree":
        """Return what is found under some keys and indices; an empty tree if nothing is."""
        tree = self
        for key in path:
            inner = None
            if isinstance(tree.value, Mapping) and isinstance(key, str):
                inner = tree.value.get(key)
            elif isinstance(key, int) and key < len(tree.items):
                inner = tree.items[key]
            if inner is None or inner.value is None:
                return Tree(tree.line)
            tree = inner
        return tree

    @property
    def is_there(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def fields(self) -> Mapping[str, "Tree"]:
        """What it has under names; nothing if it is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def items(self) -> Sequence["Tree"]:
        """What it lists; nothing if it is no list."""
        is_list = isinstance(self.value, Sequence) and not isinstance(self.value, str)
        return self.value if is_list else ()  # type: ignore[return-value]  # a str is out

    @property
    def text(self) -> str:
        """A scalar as words; empty if it is none."""
        value = self.value
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, str | int | float) else ""

    @property
    def number(self) -> int | None:
        """A whole number, or None."""
        is_number = isinstance(self.value, int) and not isinstance(self.value, bool)
        return self.value if is_number else None  # type: ignore[return-value]  # an int, as said

    @property
    def texts(self) -> list[str]:
        """The scalars that it lists."""
        return [item.text for item in self.items]


@dataclass(slots=True)
class Reading:
    """What was read from a file."""

    documents: list[Tree] = field(default_factory=list)
    duplicates: list[tuple[int, str]] = field(default_factory=list)
    """Keys that a mapping has twice, with the line of the second."""
    nodes: int = 0


def read_documents(text: str) -> Reading:
    """Read a file's documents.

    Raises:
        ConfigError: It is no YAML, or larger or deeper than any manifest.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ConfigError(f"more than {MAX_BYTES} bytes: no manifest is that long")
    reading = Reading()
    try:
        _measure(text)
        loader = yaml.SafeLoader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                reading.documents.append(_tree(loader, node, reading, 0))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise ConfigError(f"this is no YAML: {' '.join(str(error).split())}") from error
    return reading


def _measure(text: str) -> None:
    """Refuse what composing would be recursive about, or long."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or count > 2 * MAX_NODES:
            raise ConfigError(f"deeper than {MAX_DEPTH} or more than {MAX_NODES} values")


def _tree(loader: yaml.SafeLoader, node: yaml.Node, reading: Reading, depth: int) -> Tree:
    reading.nodes += 1
    if reading.nodes > MAX_NODES or depth > MAX_DEPTH:
        raise ConfigError(f"its aliases make it deeper than {MAX_DEPTH} or endlessly long")
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return Tree(line, dict(_fields(loader, node, reading, depth)))
    if isinstance(node, yaml.SequenceNode):
        return Tree(line, [_tree(loader, item, reading, depth + 1) for item in node.value])
    return Tree(line, _scalar(loader, node))


def _fields(
    loader: yaml.SafeLoader, node: yaml.MappingNode, reading: Reading, depth: int
) -> Iterator[tuple[str, Tree]]:
    own = dict[str, Tree]()
    for key, value in node.value:
        tree = _tree(loader, value, reading, depth + 1)
        if key.tag == "tag:yaml.org,2002:merge":
            for merged in reversed(tree.items or (tree,)):  # the first one wins
                yield from merged.fields.items()
            continue
        name = str(key.value)
        if name in own:
            reading.duplicates.append((key.start_mark.line + 1, name))
        own[name] = tree
    yield from own.items()


def _scalar(loader: yaml.SafeLoader, node: yaml.Node) -> Value:
    try:
        match node.tag.rpartition(":")[2]:
            case "null":
                return None
            case "bool":
                return bool(loader.construct_yaml_bool(node))
            case "int":
                return int(loader.construct_yaml_int(node))
    except (ValueError, KeyError):  # marked as a number, and none; or one of 5,000 digits
        pass
    return str(node.value)
