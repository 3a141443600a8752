"""Names of tasks and methods, and where they live. Importing this loads none of them."""

from __future__ import annotations

METHODS = {
    "none": "kbert_cli.methods.none",
    "kbert": "kbert_cli.methods.kbert",
}

TASKS = {
    "classification": "kbert_cli.tasks.classification",
    "ner": "kbert_cli.tasks.ner",
    "qa": "kbert_cli.tasks.qa",
    "reading": "kbert_cli.tasks.reading",
}

SCRATCH = "scratch:"
"""How ``--model`` begins when it names an encoder from nothing."""
