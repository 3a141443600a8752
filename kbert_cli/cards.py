"""Cards (TOML) of the bundled graphs and corpora."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbert_cli.errors import KbertError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Card:
    """What a bundled graph or corpus says of itself."""

    name: str
    title: str
    domain: str
    licence: str
    path: Path
    """The graph's file or the corpus's folder."""
    facts: dict[str, Any]
    """All keys of the card."""


def read_card(file: Path, path: Path) -> Card:
    """The card in ``file``, which describes ``path``."""
    facts = read_toml(file)
    return Card(
        facts["name"], facts["title"], facts["domain"], facts["licence"], path=path, facts=facts
    )


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file as plain data; a damaged one is a clear error."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise KbertError(f"{path} is not valid TOML: {error}") from None
