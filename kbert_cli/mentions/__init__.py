"""Where the graph's entities occur in a text. No torch."""
