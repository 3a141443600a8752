"""Checkpoints of UER and K-BERT (``.bin``) into Hugging Face folders, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from kbert_cli.encoders import load_config, quiet_transformers
from kbert_cli.errors import KbertError
from kbert_cli.files import named_output_errors, read_lines, require_free, write_json
from kbert_cli.scratch import build_tokenizer
from kbert_cli.tokenization import hub_errors, load_tokenizer
from kbert_cli.uer import (
    DECODER,
    SEGMENTS,
    WORDS,
    Weights,
    find_layout,
    key_map,
    norm_factor,
    read_settings,
    write_settings,
)
from kbert_cli.vocabulary import require_special

WEIGHTS, VOCABULARY, CONFIG = "model.bin", "vocab.txt", "config.json"
_DECODER_BIAS, _BIAS = "cls.predictions.decoder.bias", "cls.predictions.bias"


def to_hugging_face(
    source: Path,
    output: Path,
    *,
    config: str,
    vocab: str,
    drop: Sequence[str] = (),
    keep_norms: bool = False,
) -> dict[str, Any]:
    """Write a Hugging Face folder with the weights of a ``.bin`` of UER or K-BERT.

    Args:
        config: config.json of UER or Hugging Face, for the number of heads.
        vocab: vocab.txt, a piece a line.
        drop: beginnings of keys that are left out, for heads of fine-tuned models.
        keep_norms: copy the gains of layer norms, for weights that UER itself took from Google's
            BERT; otherwise they are scaled so that outputs stay what UER computes.

    Raises:
        KbertError: a key has no counterpart (all are listed), or sizes do not fit.
    """
    require_free(output, "Name another folder.")
    weights = {
        key: value for key, value in _load(source).items() if not key.startswith(tuple(drop))
    }
    layout, keys = find_layout(weights)
    _raise_unmatched(source, weights, keys.values(), "--drop PREFIX leaves a head out.")
    found = {ours: _clone(weights[theirs]) for ours, theirs in keys.items()}
    found[SEGMENTS] = found[SEGMENTS][1:]
    for key, value in found.items():
        value *= norm_factor(key, len(value), keep_norms=keep_norms)
    pieces = _read_vocabulary(vocab, len(found[WORDS]))
    settings = read_settings(config)
    tied = DECODER not in found or torch.equal(found[DECODER], found[WORDS])
    model = _build(found, settings, tied=tied, pad=pieces["[PAD]"])
    if _BIAS in found:
        found[_DECODER_BIAS] = found[_BIAS]
    _fill(model, found, source)
    with named_output_errors(output), quiet_transformers():
        model.save_pretrained(output)
        build_tokenizer(list(pieces)).save_pretrained(output)
    return _summary(output, layout, found)


def to_uer(source: Path, output: Path, *, layout: str, keep_norms: bool = False) -> dict[str, Any]:
    """Write ``model.bin``, ``config.json`` and ``vocab.txt`` as UER or K-BERT take them.

    Raises:
        KbertError: the folder is no BERT, or holds weights that the layout has no place for.
    """
    from transformers import BertForPreTraining

    require_free(output, "Name another folder.")
    settings = load_config(str(source))
    if settings.model_type != "bert":
        raise KbertError(
            f"{source} is of the family {settings.model_type!r}; UER's layouts hold 'bert' only"
        )
    with hub_errors(str(source)), quiet_transformers():
        model, loaded = BertForPreTraining.from_pretrained(
            source, trust_remote_code=False, output_loading_info=True
        )
    missing = set(loaded["missing_keys"])
    held = {key: value for key, value in model.state_dict().items() if key not in missing}
    mlm, nsp = "cls.predictions.transform.dense.weight" in held, "cls.seq_relationship.bias" in held
    keys = key_map(layout, settings.num_hidden_layers, mlm=mlm, nsp=nsp)
    known = {*keys, DECODER, _DECODER_BIAS, "bert.embeddings.position_ids"}
    unexpected = dict.fromkeys(loaded["unexpected_keys"])
    _raise_unmatched(source, {**held, **unexpected}, known, "")
    weights = {}
    for ours, theirs in keys.items():
        value = _clone(model.state_dict()[ours])
        weights[theirs] = value / norm_factor(ours, len(value), keep_norms=keep_norms)
    segments = keys[SEGMENTS]
    padding = torch.zeros(1, weights[segments].shape[1])
    weights[segments] = torch.cat([padding, weights[segments]])
    tokenizer = load_tokenizer(str(source))
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(weights[keys[WORDS]]))))
    with named_output_errors(output):
        output.mkdir(parents=True, exist_ok=True)
        torch.save(weights, output / WEIGHTS)
        (output / VOCABULARY).write_text("\n".join(pieces) + "\n", encoding="utf-8")
    write_json(output / CONFIG, write_settings(settings))
    return _summary(output, layout, weights)


def _load(path: Path) -> Weights:
    """Tensors by key; nothing else in the file is unpickled."""
    try:
        value = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror or error}") from None
    # A damaged file raises whatever the unpickler stumbles over, struct.error among it.
    except Exception as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise KbertError(
            f"{path} is no file of plain tensors: {first}",
            "Only tensors are read, because anything else in such a file could run code.",
        ) from None
    if not isinstance(value, dict) or not all(
        isinstance(key, str) and isinstance(one, torch.Tensor) for key, one in value.items()
    ):
        raise KbertError(f"{path} holds something else than named tensors")
    # What several GPUs wrote has the wrapper's name before each key.
    return {key.removeprefix("module."): one for key, one in value.items()}


def _clone(value: torch.Tensor) -> torch.Tensor:
    return value.detach().to(torch.float32).clone()


def _raise_unmatched(source: Path, weights: Any, known: Any, hint: str) -> None:
    known = set(known)
    unmatched = [key for key in weights if key not in known]
    missing = [key for key in known if key not in weights and not key.startswith(("cls.", "bert."))]
    problems = [
        f"{len(keys)} {what}: {', '.join(sorted(keys))}"
        for keys, what in ((unmatched, "keys have no counterpart"), (missing, "keys are missing"))
        if keys
    ]
    if problems:
        raise KbertError(f"{source} does not fit:\n" + "\n".join(problems), hint)


def _read_vocabulary(path: str, size: int) -> dict[str, int]:
    pieces: dict[str, int] = {}
    for number, piece in read_lines(path):
        if piece in pieces:
            raise KbertError(f"{path}:{number}: {piece!r} is on line {pieces[piece] + 1} already")
        pieces[piece] = number - 1
    if len(pieces) != size:
        raise KbertError(
            f"{path} has {len(pieces):,} pieces and the checkpoint {size:,}",
            "Give the vocabulary that the checkpoint was trained with.",
        )
    require_special(path, pieces)
    return pieces


def _build(weights: Weights, settings: dict[str, Any], *, tied: bool, pad: int) -> Any:
    from transformers import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel

    words = weights[WORDS]
    sizes = {
        "hidden_size": words.shape[1],
        "num_hidden_layers": sum(key.endswith("self.query.bias") for key in weights),
        "intermediate_size": len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
    }
    wrong = [
        f"{name} is {settings[name]} in the config and {size} in the weights"
        for name, size in sizes.items()
        if settings.get(name, size) != size
    ]
    heads = settings["num_attention_heads"]
    if not isinstance(heads, int) or heads < 1 or words.shape[1] % heads:
        wrong.append(f"num_attention_heads {heads} does not divide the width {words.shape[1]}")
    if wrong:
        raise KbertError("\n".join(wrong))
    config = BertConfig(
        **{**settings, **sizes},
        vocab_size=len(words),
        max_position_embeddings=len(weights["bert.embeddings.position_embeddings.weight"]),
        type_vocab_size=len(weights[SEGMENTS]),
        pad_token_id=pad,
        tie_word_embeddings=tied,
    )
    if "cls.seq_relationship.bias" in weights and _BIAS in weights:
        return BertForPreTraining(config)
    if _BIAS in weights:
        return BertForMaskedLM(config)
    return BertModel(config, add_pooling_layer="bert.pooler.dense.bias" in weights)


def _fill(model: Any, weights: Weights, source: Path) -> None:
    own = model.state_dict()
    bare = not any(key.startswith("bert.") for key in own)
    named = {key.removeprefix("bert.") if bare else key: value for key, value in weights.items()}
    try:
        model.load_state_dict(named)
    except RuntimeError as error:
        raise KbertError(f"{source} does not fit: {str(error).strip()}") from None


def _summary(output: Path, layout: str, weights: Weights) -> dict[str, Any]:
    return {
        "output": str(output),
        "layout": layout,
        "tensors": len(weights),
        "parameters": sum(value.numel() for value in weights.values()),
    }
