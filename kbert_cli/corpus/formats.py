"""Names of the data formats, and telling one from a file's beginning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbert_cli.corpus.columns import NER, header_columns
from kbert_cli.corpus.schemes import read_mark
from kbert_cli.corpus.sequences import brat, cmeee, inline
from kbert_cli.corpus.sequences.objects import is_cluener, is_entity_list
from kbert_cli.errors import KbertError
from kbert_cli.files import STDIN, parse_json

TABLES = ("tsv", "csv", "jsonl")
"""A row a line; for ner the text's characters and tags are separated by blanks."""
SEQUENCES = ("conll", "cluener", "entities", "brat", "cmeee", "inline")
"""Formats of ner alone."""
OBJECTS = ("cluener", "entities")
"""Those of them that are JSON lines."""
PASSAGES = "squad"
"""Passages with questions and answers, as SQuAD and CMRC 2018 have them; reading alone."""
FORMATS = (*TABLES, *SEQUENCES, PASSAGES)

_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tsv": "tsv"}


def sniff(path: str | Path, head: Sequence[str], *, ner: bool) -> str:
    """The format of a file, from its name and its first lines.

    Args:
        ner: whether the task is ner; the other tasks read tables only.
    """
    filled = [line for line in head if line.strip()]
    named = _SUFFIXES.get(Path(path).suffix.casefold()) if str(path) != STDIN else None
    if named == "jsonl" or (filled and filled[0].lstrip().startswith("{")):
        return _sniff_objects(filled[:_OBJECTS_SEEN]) if ner else "jsonl"
    if not ner:
        return named or "tsv"
    texts = str(path) != STDIN and Path(path).suffix.casefold() == ".txt"
    if texts and brat.annotation_of(path).is_file():
        return "brat"
    if filled and sum(cmeee.MARK in line for line in filled) == len(filled):
        return "cmeee"
    if named == "csv":
        return named
    if _is_conll(head):
        return "conll"
    if named is None and any(inline.MARKED.search(line) for line in filled[:200]):
        return "inline"
    return "tsv"


_OBJECTS_SEEN = 100


def _sniff_objects(lines: Sequence[str]) -> str:
    """By the first object that has entities."""
    for line in lines:
        try:
            record: Any = parse_json(line)
        except ValueError:
            continue
        if is_cluener(record):
            return "cluener"
        if is_entity_list(record):
            return "entities"
    return "jsonl"


def _is_conll(head: Sequence[str]) -> bool:
    """Whether most lines are one token and one tag."""
    filled = [line for line in head if line.strip()][:500]
    fits = sum(_is_token_and_tag(line) for line in filled)
    # A table whose texts have one character each looks alike, but for its header.
    headed = bool(filled) and _is_header(filled[0])
    return not headed and fits > 1 and fits * 2 > len(filled)


def _is_header(line: str) -> bool:
    """Whether a line names columns of a table."""
    try:
        return header_columns(line.split("\t"), NER) is not None
    except KbertError:
        return True


def _is_token_and_tag(line: str) -> bool:
    cells = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
    if len(cells) < 2:
        return cells[0] != "" and read_mark(cells[0]) is not None
    return read_mark(cells[-1]) is not None and " " not in cells[0].strip()
