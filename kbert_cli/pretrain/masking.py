"""Which tokens are masked, and with what (Devlin et al. 2019; whole words: Cui et al. 2019)."""

from __future__ import annotations

import numpy as np

from kbert_cli.batch import IGNORED

MASK_SHARE = 0.8
RANDOM_SHARE = 0.1
"""Of the chosen tokens 80 % become [MASK], 10 % a random piece, 10 % stay."""


def mask_words(
    tokens: np.ndarray,
    words: np.ndarray,
    chance: np.random.Generator,
    *,
    rate: float,
    mask_id: int,
    first_piece: int,
    vocabulary: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Mask whole words of a batch.

    Args:
        tokens: [b, n] ids.
        words: [b, n] number of the word that a token belongs to, from 0; -1 where nothing may be
            masked (special tokens, padding).
        rate: probability of a word, and so the expected share of tokens.
        first_piece: the lowest id that is no special token; random pieces begin there.
        vocabulary: ids are below it.

    Returns:
        The tokens as the model sees them, and the targets (``IGNORED`` where nothing is asked).
    """
    drawn = chance.random(int(words.max(initial=-1)) + 2) < rate
    chosen = drawn[words] & (words >= 0)
    how = chance.random(tokens.shape)
    masked = np.where(chosen & (how < MASK_SHARE), mask_id, tokens)
    random = chance.integers(first_piece, vocabulary, tokens.shape)
    swapped = chosen & (how >= MASK_SHARE) & (how < MASK_SHARE + RANDOM_SHARE)
    return np.where(swapped, random, masked), np.where(chosen, tokens, IGNORED)
