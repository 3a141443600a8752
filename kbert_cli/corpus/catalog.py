"""The bundled corpora, and which files a run's splits are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kbert_cli.cards import Card, read_card
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.files import bundled_folder

SUFFIXES = (".tsv", ".txt")


@dataclass(frozen=True)
class SplitFiles:
    """Paths of a corpus; dev and test may be missing."""

    train: str
    dev: str | None = None
    test: str | None = None


def bundled_corpora() -> dict[str, Card]:
    """Name → card of the bundled corpora, in name order."""
    files = sorted(bundled_folder("corpora").glob("*/card.toml"))
    cards = (read_card(file, file.parent) for file in files)
    return {card.name: card for card in cards}


def corpus_for(task: str, domain: str | None) -> Card:
    """The bundled corpus of a task, of that domain when there is one."""
    cards = [card for card in bundled_corpora().values() if card.facts["task"] == task]
    if not cards:
        raise KbertError(f"no bundled corpus for --task {task}", "Name your own with --train FILE.")
    return next((card for card in cards if card.domain == domain), cards[0])


def corpus_files(corpus: str) -> SplitFiles:
    """The splits of a bundled corpus or of a folder that holds train, dev and test files.

    Raises:
        KbertError: there is neither, or the folder has no training file.
    """
    bundled = bundled_corpora()
    folder = bundled[corpus].path if corpus in bundled else Path(corpus)
    if not folder.is_dir():
        raise KbertError(
            f"no corpus {corpus!r}: neither bundled ({', '.join(bundled)}) nor a folder",
            did_you_mean(corpus, bundled) or "For single files use --train, --dev and --test.",
        )
    train = _split_file(folder, "train")
    if train is None:
        raise KbertError(f"{folder} holds no train.tsv or train.txt")
    return SplitFiles(train, _split_file(folder, "dev"), _split_file(folder, "test"))


def _split_file(folder: Path, name: str) -> str | None:
    paths = (folder / f"{name}{suffix}" for suffix in SUFFIXES)
    return next((str(path) for path in paths if path.is_file()), None)
