"""The sentence tree, its flat layout and its visibility. No torch."""
