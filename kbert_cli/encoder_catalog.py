"""The bundled encoders: what ``--model`` names without a hub. No torch."""

from __future__ import annotations

from kbert_cli.cards import Card, read_card
from kbert_cli.files import bundled_folder

OFFLINE_VARIABLE = "HF_HUB_OFFLINE"
"""Environment variable that keeps the hub's library from the network, set before its import."""


def bundled_encoders() -> dict[str, Card]:
    """Name → card of the bundled encoders, in name order."""
    files = sorted(bundled_folder("encoders").glob("*/card.toml"))
    cards = (read_card(file, file.parent) for file in files)
    return {card.name: card for card in cards}


def model_path(name: str) -> str:
    """The folder of a bundled encoder; anything else stays what it is (a folder, a hub name)."""
    bundled = bundled_encoders()
    return str(bundled[name].path) if name in bundled else name
