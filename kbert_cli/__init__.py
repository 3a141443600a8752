"""kbert: fine-tune Chinese BERT together with a knowledge graph."""

__version__ = "0.1.0"
