"""Second implementations, written for clarity and independent of the package's own code."""

import itertools
from dataclasses import dataclass, field


@dataclass
class Node:
    """A token of a tree of linked nodes."""

    text: str
    parent: "Node | None"
    branch: int
    """0 on the trunk."""
    anchor: list = field(default_factory=list)
    """For branch tokens: the trunk nodes on which the branch hangs."""


def grow_nodes(tokens, branches):
    """Tokens (strings) and ``{(first, last): [branch tokens, …]}`` → nodes in flattened order."""
    trunk = []
    for token in tokens:
        trunk.append(Node(token, trunk[-1] if trunk else None, 0))
    flat, number = [], 0
    for index, node in enumerate(trunk):
        flat.append(node)
        for (first, last), hung in branches.items():
            if last != index:
                continue
            for texts in hung:
                number += 1
                parent = node
                for text in texts:
                    parent = Node(text, parent, number, trunk[first : last + 1])
                    flat.append(parent)
    return flat


def depth(node):
    """Steps to the root: the soft position."""
    return 0 if node.parent is None else 1 + depth(node.parent)


def sees(a, b):
    """Liu et al. 2020, section 3.4, word by word."""
    same = a.branch == b.branch
    a_is_anchor = any(a is node for node in b.anchor)
    b_is_anchor = any(b is node for node in a.anchor)
    return same or a_is_anchor or b_is_anchor


def matrix(nodes):
    """The visible matrix as strings of 0 and 1."""
    return ["".join(str(int(sees(a, b))) for b in nodes) for a in nodes]


def best_valid_path(scores, labels):
    """The best tag sequence among all that BIO allows, by trying each of them."""

    def valid(path):
        previous = "O"
        for index in path:
            tag = labels[index]
            if tag.startswith("I-") and previous[2:] != tag[2:]:
                return False
            previous = tag
        return True

    paths = itertools.product(range(len(labels)), repeat=len(scores))
    return max(
        (path for path in paths if valid(path)),
        key=lambda path: sum(float(row[index]) for row, index in zip(scores, path, strict=True)),
    )
