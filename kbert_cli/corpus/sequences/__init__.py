"""Readers of sentences with entities, one file a format; each streams ``Sentence`` records."""
