"""kbert: fine-tune Chinese BERT together with a knowledge graph.

``finetune``, ``load``, ``predict``, ``inspect_tree`` and the predictors do what the commands do.
"""

from __future__ import annotations

from typing import Any

from kbert_cli.version import __version__ as __version__

__all__ = ["BatchPredictor", "Predictor", "finetune", "inspect_tree", "load", "predict"]


def __getattr__(name: str) -> Any:
    # Looked up on first use: `kbert --help` must not load what it does not need.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kbert_cli import api

    return getattr(api, name)
