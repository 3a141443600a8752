"""Checkpoints of UER and K-BERT: equal outputs in both layouts, there and back."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, BertForPreTraining

from kbert_cli.encoders import load_encoder
from kbert_cli.vocabulary import SPECIAL

from .conftest import run_kbert

WIDTH, INNER, LAYERS, HEADS, POSITIONS = 24, 40, 2, 3, 16
PIECES = [*SPECIAL, *"头痛高血压患者发热"]
CONFIG = {
    "emb_size": WIDTH,
    "feedforward_size": INNER,
    "hidden_size": WIDTH,
    "heads_num": HEADS,
    "layers_num": LAYERS,
    "dropout": 0.1,
}
NAMES = {
    "kbert": {
        "word": "embedding.word_embedding",
        "position": "embedding.position_embedding",
        "segment": "embedding.segment_embedding",
        "mlm": ("target.mlm_linear_1", "target.layer_norm", "target.mlm_linear_2"),
        "nsp": ("target.nsp_linear_1", "target.nsp_linear_2"),
    },
    "uer": {
        "word": "embedding.word.embedding",
        "position": "embedding.pos.embedding",
        "segment": "embedding.seg.embedding",
        "mlm": ("target.mlm.linear_1", "target.mlm.layer_norm", "target.mlm.linear_2"),
        "nsp": ("target.sp.linear_1", "target.sp.linear_2"),
    },
}


def random_weights(layout):
    """A checkpoint of random numbers, as the layout names and shapes it."""
    torch.manual_seed(3)
    names, weights = NAMES[layout], {}

    def linear(name, out, into):
        weights[f"{name}.weight"] = torch.randn(out, into) * 0.3
        weights[f"{name}.bias"] = torch.randn(out) * 0.3

    def norm(name):
        weights[f"{name}.gamma"] = 1 + torch.randn(WIDTH) * 0.3
        weights[f"{name}.beta"] = torch.randn(WIDTH) * 0.3

    for part, rows in (("word", len(PIECES)), ("position", POSITIONS), ("segment", 3)):
        weights[f"{names[part]}.weight"] = torch.randn(rows, WIDTH)
    norm("embedding.layer_norm")
    for layer in range(LAYERS):
        prefix = f"encoder.transformer.{layer}"
        for number in range(3):
            linear(f"{prefix}.self_attn.linear_layers.{number}", WIDTH, WIDTH)
        linear(f"{prefix}.self_attn.final_linear", WIDTH, WIDTH)
        norm(f"{prefix}.layer_norm_1")
        linear(f"{prefix}.feed_forward.linear_1", INNER, WIDTH)
        linear(f"{prefix}.feed_forward.linear_2", WIDTH, INNER)
        norm(f"{prefix}.layer_norm_2")
    linear(names["mlm"][0], WIDTH, WIDTH)
    norm(names["mlm"][1])
    linear(names["mlm"][2], len(PIECES), WIDTH)
    linear(names["nsp"][0], WIDTH, WIDTH)
    linear(names["nsp"][1], 2, WIDTH)
    return weights


def uer_outputs(weights, layout, tokens, segments):
    """What UER computes (no dropout): states, scores of pieces, scores of the next sentence."""
    names = NAMES[layout]

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = x.std(-1, keepdim=True) + 1e-6  # torch's std divides by n - 1
        return weights[f"{name}.gamma"] * centred / spread + weights[f"{name}.beta"]

    def gelu(x):
        return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))

    table = {part: weights[f"{names[part]}.weight"] for part in ("word", "position", "segment")}
    # Segment 0 is padding's; the first text is segment 1.
    x = table["word"][tokens] + table["segment"][segments + 1]
    x = norm("embedding.layer_norm", x + table["position"][: tokens.shape[1]])
    for layer in range(LAYERS):
        prefix = f"encoder.transformer.{layer}"
        query, key, value = (
            linear(f"{prefix}.self_attn.linear_layers.{number}", x).unflatten(-1, (HEADS, -1))
            for number in range(3)
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(WIDTH / HEADS)
        mixed = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), value).flatten(2)
        x = norm(f"{prefix}.layer_norm_1", x + linear(f"{prefix}.self_attn.final_linear", mixed))
        inner = gelu(linear(f"{prefix}.feed_forward.linear_1", x))
        x = norm(f"{prefix}.layer_norm_2", x + linear(f"{prefix}.feed_forward.linear_2", inner))
    first, middle, last = names["mlm"]
    pieces = linear(last, norm(middle, gelu(linear(first, x))))
    following = linear(names["nsp"][1], torch.tanh(linear(names["nsp"][0], x[:, 0])))
    return x, pieces, following


@pytest.fixture
def checkpoint(tmp_path, request):
    layout = request.param
    weights = random_weights(layout)
    # As several GPUs write them.
    torch.save({f"module.{key}": value for key, value in weights.items()}, tmp_path / "uer.bin")
    (tmp_path / "uer.json").write_text(json.dumps(CONFIG))
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return layout, weights, tmp_path


SOURCE = ("convert-checkpoint", "uer.bin", "--config", "uer.json", "--vocab", "vocab.txt")


def convert(folder, source="uer.bin", *more):
    command = SOURCE if source == "uer.bin" else ("convert-checkpoint", source)
    return run_kbert(*command, *more, cwd=folder)


@pytest.mark.parametrize("checkpoint", ["kbert", "uer"], indirect=True)
@torch.no_grad()
def test_outputs_are_those_of_uer_and_the_way_back_gives_the_same_weights(checkpoint):
    layout, weights, folder = checkpoint
    done = convert(folder, "uer.bin", "--output", "hf", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["layout"] == layout
    tokens = torch.tensor([[2, 5, 6, 3, 7, 8, 9, 3], [2, 10, 11, 12, 13, 3, 4, 3]])
    segments = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]] * 2)
    expected = uer_outputs(weights, layout, tokens, segments)
    model = BertForPreTraining.from_pretrained(folder / "hf").eval()
    states = model.bert(input_ids=tokens, token_type_ids=segments).last_hidden_state
    found = model(input_ids=tokens, token_type_ids=segments)
    torch.testing.assert_close(states, expected[0], atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(found.prediction_logits, expected[1], atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(found.seq_relationship_logits, expected[2], atol=2e-5, rtol=1e-4)
    assert load_encoder(str(folder / "hf")).tokenizer.tokenize("头痛") == ["头", "痛"]

    back = convert(folder, "hf", "--output", "back", "--layout", layout)
    assert back.returncode == 0, back.stderr
    returned = torch.load(folder / "back/model.bin", weights_only=True)
    assert returned.keys() == weights.keys()
    for key, value in weights.items():
        if key == f"{NAMES[layout]['segment']}.weight":
            value = torch.cat([torch.zeros(1, WIDTH), value[1:]])
        torch.testing.assert_close(returned[key], value)
    settings = json.loads((folder / "back/config.json").read_text())
    assert CONFIG.items() <= settings.items()
    assert (folder / "back/vocab.txt").read_text(encoding="utf-8").splitlines() == PIECES


@pytest.mark.parametrize("checkpoint", ["kbert"], indirect=True)
def test_gains_are_kept_when_asked_for(checkpoint):
    _, weights, folder = checkpoint
    assert convert(folder, "uer.bin", "--output", "hf", "--keep-norms").returncode == 0
    gains = load_file(folder / "hf/model.safetensors")["bert.embeddings.LayerNorm.weight"]
    torch.testing.assert_close(gains, weights["embedding.layer_norm.gamma"])


@pytest.mark.parametrize("checkpoint", ["kbert"], indirect=True)
def test_unmatched_and_missing_keys_are_listed_and_refused(checkpoint):
    _, weights, folder = checkpoint
    lost = "encoder.transformer.1.self_attn.final_linear.bias"
    changed = {key: value for key, value in weights.items() if key != lost}
    changed |= {"output_layer_1.weight": torch.zeros(2), "output_layer_1.bias": torch.zeros(2)}
    torch.save(changed, folder / "uer.bin")
    refused = convert(folder, "uer.bin", "--output", "hf")
    assert refused.returncode == 1
    for key in (lost, "output_layer_1.weight", "output_layer_1.bias"):
        assert key in refused.stderr
    assert not (folder / "hf").exists()
    torch.save(weights | {"output_layer_1.bias": torch.zeros(2)}, folder / "uer.bin")
    dropped = convert(folder, "uer.bin", "--output", "hf", "--drop", "output_layer_")
    assert dropped.returncode == 0, dropped.stderr


@pytest.mark.parametrize("checkpoint", ["uer"], indirect=True)
def test_an_encoder_without_heads_is_an_encoder(checkpoint):
    _, weights, folder = checkpoint
    torch.save({k: v for k, v in weights.items() if not k.startswith("target")}, folder / "uer.bin")
    assert convert(folder, "uer.bin", "--output", "hf").returncode == 0
    assert AutoModel.from_pretrained(folder / "hf").config.num_hidden_layers == LAYERS
    load_encoder(str(folder / "hf"))


@pytest.mark.parametrize("checkpoint", ["kbert"], indirect=True)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: torch.save({"a": print}, folder / "uer.bin"), "could run code"),
        (lambda folder: (folder / "uer.bin").write_bytes(b"junk"), "could run code"),
        (lambda folder: torch.save({"a": torch.zeros(1)}, folder / "uer.bin"), "no checkpoint of"),
        (lambda folder: (folder / "vocab.txt").write_text("[PAD]\n"), "1 pieces and the"),
        (lambda folder: (folder / "uer.json").write_text("{}"), "lacks heads_num"),
        (
            lambda folder: (folder / "uer.json").write_text(json.dumps(CONFIG | {"heads_num": 5})),
            "does not divide",
        ),
        (
            lambda folder: (folder / "uer.json").write_text(json.dumps(CONFIG | {"layers_num": 9})),
            "9 in the config and 2 in the weights",
        ),
    ],
)
def test_what_is_wrong_is_said(kbert_here, checkpoint, change, message):
    _, _, folder = checkpoint
    change(folder)
    done = kbert_here(*SOURCE, "--output", "hf")
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
