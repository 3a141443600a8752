"""Which encoders are taken, and that weights load or are refused."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tokenizers import normalizers
from torch import nn
from transformers import BertForMaskedLM

from kbert_cli.config import InjectionConfig
from kbert_cli.encoders import FAMILIES, REFUSED, check_family, load_encoder
from kbert_cli.errors import KbertError
from kbert_cli.methods import kbert
from kbert_cli.scratch import build_encoder
from kbert_cli.selfcheck import check_encoder
from kbert_cli.tokenization import PieceEncoder
from kbert_cli.vocabulary import build_backend, build_vocabulary

from .tiny import tiny_bert, tiny_of_family


@pytest.mark.parametrize(
    ("family", "attention"),
    # flex needs a compiler: tests/test_batches.py holds it against the others.
    [
        (family, attention)
        for family, kinds in FAMILIES.items()
        for attention in kinds
        if attention != "flex"
    ],
)
def test_every_family_on_the_list_obeys_mask_and_positions(family, attention):
    encoder = tiny_of_family(family, attention)
    check_encoder(kbert.build(encoder, InjectionConfig()), 60, tree=True)


@pytest.mark.parametrize("family", REFUSED)
def test_other_families_are_refused_by_name(family):
    with pytest.raises(KbertError, match=f"family '{family}' cannot carry a sentence tree"):
        check_family(family, "sdpa")


def test_unknown_families_and_attentions_are_refused():
    with pytest.raises(KbertError, match="'gpt2' are not known"):
        check_family("gpt2", "sdpa")
    with pytest.raises(KbertError, match="'rembert' does not respect the mask with --attention sd"):
        check_family("rembert", "sdpa")


class Leaking(nn.Module):
    """Sees every token whatever the mask says."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(60, 8)

    def forward(self, input_ids, segment_ids, position_ids, branch_ids, mention_ids):
        states = self.table(input_ids)
        return states + states.mean(1, keepdim=True) + position_ids[..., None]


class Positionless(Leaking):
    """Ignores positions."""

    def forward(self, input_ids, *others):
        return self.table(input_ids)


def test_the_self_check_refuses_leaks_and_lost_positions():
    with pytest.raises(KbertError, match="lets tokens see what the mask hides"):
        check_encoder(Leaking(), 60, tree=True)
    with pytest.raises(KbertError, match="ignores position ids"):
        check_encoder(Positionless(), 60, tree=True)


def test_a_boolean_mask_under_eager_would_be_caught(monkeypatch):
    monkeypatch.setattr(
        "kbert_cli.methods.tree_encoder.additive_mask",
        lambda branches, *_, **__: (branches[:, :, None] == branches[:, None])[:, None],
    )
    wrapped = kbert.build(tiny_bert("eager"), InjectionConfig())
    with pytest.raises(KbertError, match="lets tokens see"):
        check_encoder(wrapped, 30, tree=True)


def save(folder, change=None):
    encoder = tiny_bert()
    encoder.model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    if change:
        change(weights)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return encoder


def test_a_saved_encoder_loads_with_equal_weights(tmp_path):
    encoder = save(tmp_path)
    loaded = load_encoder(str(tmp_path))
    for key, value in encoder.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[key], value)
    assert loaded.max_length == 64


def test_missing_weights_are_listed(tmp_path):
    save(tmp_path, lambda weights: weights.pop("encoder.layer.1.output.dense.weight"))
    with pytest.raises(KbertError, match=r"1 missing: encoder\.layer\.1\.output\.dense\.weight"):
        load_encoder(str(tmp_path))


def test_unmatched_weights_are_listed(tmp_path):
    save(tmp_path, lambda weights: weights.update({"encoder.layer.7.odd": torch.zeros(1)}))
    with pytest.raises(KbertError, match=r"1 unmatched: encoder\.layer\.7\.odd"):
        load_encoder(str(tmp_path))


def test_weights_of_another_shape_are_listed(tmp_path):
    key = "encoder.layer.0.output.dense.bias"
    save(tmp_path, lambda weights: weights.update({key: torch.zeros(5)}))
    with pytest.raises(KbertError, match=r"1 of another shape: .*encoder\.layer\.0\.output"):
        load_encoder(str(tmp_path))


def test_pretraining_heads_do_not_count_as_unmatched(tmp_path):
    encoder = tiny_bert()
    model = BertForMaskedLM(encoder.model.config)
    model.save_pretrained(tmp_path)
    encoder.tokenizer.save_pretrained(tmp_path)
    loaded = load_encoder(str(tmp_path))
    expected = model.bert.embeddings.word_embeddings.weight
    assert torch.equal(loaded.model.embeddings.word_embeddings.weight, expected)


def test_a_folder_without_model_is_a_clear_error(tmp_path):
    with pytest.raises(KbertError, match="cannot load the folder"):
        load_encoder(str(tmp_path))


def test_an_unknown_scratch_size_names_the_sizes():
    with pytest.raises(KbertError, match=r"no size 'minni'.*mini, base") as error:
        build_encoder("scratch:minni", [])
    assert error.value.hint == "Did you mean 'mini'?"


def test_scratch_weights_depend_on_the_seed_alone():
    def weights():
        torch.manual_seed(3)
        return build_encoder("scratch:mini", ["患者头痛"]).model.state_dict()

    one, other = weights(), weights()
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_vocabulary_leaves_nothing_of_its_text_unknown():
    text = "查CT示39.5℃，iPhone12与Café，“引号”😀👍🏽カタカナ"
    vocabulary = build_vocabulary([text])
    encode = PieceEncoder(build_backend(vocabulary))
    pieces = encode(text)
    assert vocabulary[1] == "[UNK]"
    assert 1 not in pieces.ids
    spans = zip(pieces.starts, pieces.ends, strict=True)
    covered = {index for start, end in spans for index in range(start, end)}
    assert covered == set(range(len(text)))


def test_signs_are_known_whatever_the_text_shows():
    vocabulary = build_vocabulary(["头痛"], size=300)
    encode = PieceEncoder(build_backend(vocabulary))
    assert 1 not in encode("“头”‘痛’—…～％￥℃±，。！x9+=").ids


def test_frequent_words_become_pieces_of_their_own():
    vocabulary = build_vocabulary(["查 CT 与 mri"] * 5 + ["xyz"])
    assert {"ct", "mri"} <= set(vocabulary)
    assert "xyz" not in vocabulary
    assert {"x", "##y", "##z"} <= set(vocabulary)


def test_markup_in_a_text_is_text():
    encode = PieceEncoder(tiny_bert().tokenizer.backend_tokenizer)
    pieces = encode("头痛[SEP]高血压")
    special = set(range(5)) - {1}
    assert not special & set(pieces.ids)
    assert pieces.ends[-1] == len("头痛[SEP]高血压")


MIXED = st.text(
    st.sampled_from(
        "头痛高血压，。！“…—[]()<>-_'ＡＢ１aB1é\u0301 \t\u3000\x00😀カﾊﾟ℃ⅣßİḀ가豈\u200b·～#"
    )
    | st.characters(exclude_categories=["Cs"]),
    max_size=40,
)


@given(MIXED)
def test_looking_characters_up_gives_what_the_tokenizer_gives(text):
    backend = build_backend(build_vocabulary(["头痛高血压患者，。CT与mri" * 5]))
    encode = PieceEncoder(backend)
    whole = backend.encode(text, add_special_tokens=False)
    pieces = encode(text)
    assert list(pieces.ids) == whole.ids
    assert list(zip(pieces.starts, pieces.ends, strict=True)) == whole.offsets


def test_a_tokenizer_that_is_not_berts_is_asked_for_every_text():
    backend = build_backend(build_vocabulary(["头痛"]))
    backend.normalizer = normalizers.Replace("痛", "头")
    assert PieceEncoder(backend)("痛").ids == [backend.token_to_id("头")]
