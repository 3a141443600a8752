"""Corpora: reading labelled text, listing the bundled ones. No torch."""
