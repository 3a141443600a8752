"""Trees as text: plain data in, text out, always the same for the same data. No torch."""
