"""Pre-training: text on disk, packed rows, masks, the model's two objectives."""
