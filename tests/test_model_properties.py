"""What the model must hold (Liu et al. 2020): masks, positions, and equality with plain BERT."""

import numpy as np
import pytest
import torch

from kbert_cli.batch import additive_mask, collate
from kbert_cli.config import InjectionConfig
from kbert_cli.features import Featurizer
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.methods import kbert, none
from kbert_cli.tokenization import PieceEncoder, special_tokens
from kbert_cli.tree.visibility import PADDING

from .tiny import tiny_bert

TEXT = "患者头痛伴高血压3天"
TRIPLES = [
    Triple("头痛", "类别", "症状"),
    Triple("高血压", "类别", "疾病"),
    Triple("高血压", "服用", "药物"),
]


def features(encoder, triples=TRIPLES, text=TEXT, **settings):
    featurizer = Featurizer(
        MemoryGraph(triples),
        PieceEncoder(encoder.tokenizer.backend_tokenizer),
        special_tokens(encoder.tokenizer),
        InjectionConfig(**settings),
    )
    return featurizer.featurize([text])


def batch_of(*items):
    batch = collate(items, [np.array(0)] * len(items), pad_token_id=0)
    batch.pop("labels")
    return batch


@torch.no_grad()
def states(encoder, *items, method=kbert, **settings):
    wrapped = method.build(encoder, InjectionConfig(**settings)).eval()
    return wrapped(**batch_of(*items))


def trunk(item):
    return np.flatnonzero(item.branch_ids == 0)


def test_eager_equals_sdpa():
    eager, sdpa = tiny_bert("eager"), tiny_bert("sdpa")
    item, short = features(eager), features(eager, text="头痛")
    torch.testing.assert_close(
        states(eager, item, short), states(sdpa, item, short), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("method", [kbert, none])
def test_without_branches_it_is_the_plain_encoder(attention, method):
    encoder = tiny_bert(attention)
    item, short = features(encoder, triples=[]), features(encoder, triples=[], text="头痛")
    ours = states(encoder, item, short, method=method)
    padded = encoder.tokenizer([TEXT, "头痛"], padding=True, return_tensors="pt")
    with torch.no_grad():
        plain = encoder.model(**padded).last_hidden_state
    torch.testing.assert_close(ours[0], plain[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours[1, :4], plain[1, :4], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_branch_token_reaches_its_anchor_in_one_layer_and_the_trunk_in_two(attention):
    for layers in (1, 2):
        encoder = tiny_bert(attention, layers)
        item = features(encoder)
        changed = features(encoder)
        start = int(np.flatnonzero(item.branch_ids == 1)[0])
        changed.token_ids[start] = int(item.token_ids[1])
        moved = (states(encoder, item) - states(encoder, changed)).abs().amax(-1)[0] > 1e-4
        family = item.mention_ids == item.mention_ids[start]
        if layers == 1:
            assert moved.tolist() == family.tolist()
        else:
            assert moved[trunk(item)].all()
            assert not moved[item.branch_ids == 2].any() or layers > 2


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_order_of_sibling_branches_leaves_the_trunk_alone(attention):
    encoder = tiny_bert(attention)
    one, other = features(encoder), features(encoder, triples=[TRIPLES[0], *TRIPLES[:0:-1]])
    assert one.token_ids.tolist() != other.token_ids.tolist()
    torch.testing.assert_close(
        states(encoder, one)[0, trunk(one)], states(encoder, other)[0, trunk(other)]
    )


def test_the_ablations_do_what_they_say():
    encoder = tiny_bert()
    item = features(encoder)
    assert not torch.allclose(
        states(encoder, item)[0, 0], states(encoder, item, visible_matrix=False)[0, 0], atol=1e-3
    )
    hard = features(encoder, soft_position=False)
    assert hard.positions.tolist() == list(range(len(hard)))
    assert hard.token_ids.tolist() == item.token_ids.tolist()


def test_padding_changes_nothing():
    encoder = tiny_bert()
    short, long = features(encoder, text="头痛"), features(encoder)
    alone, together = states(encoder, short), states(encoder, short, long)
    torch.testing.assert_close(alone[0], together[0, : len(short)], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_mask_values(dtype):
    branches, mentions = torch.tensor([[0, 1, PADDING]]), torch.tensor([[1, 1, 0]])
    mask = additive_mask(branches, mentions, dtype)
    assert mask.shape == (1, 1, 3, 3)
    assert mask.dtype == dtype
    low = torch.finfo(dtype).min
    assert mask[0, 0].tolist() == [[0, 0, low], [0, 0, low], [low, low, 0]]
    assert torch.isfinite(mask).all()


def test_bf16_autocast_gives_numbers_under_eager():
    encoder = tiny_bert("eager")
    item, short = features(encoder), features(encoder, text="头痛")
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.isfinite(states(encoder, item, short)).all()
