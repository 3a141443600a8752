"""Tiny encoders with fixed weights."""

import torch
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from kbert_cli.encoders import Encoder
from kbert_cli.scratch import build_tokenizer
from kbert_cli.vocabulary import build_vocabulary

TEXT = "患者头痛伴高血压3天，服用阿司匹林后好转。类别疾病症状药物abc"

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def tiny_bert(attention="sdpa", layers=2, seed=0):
    """A BERT of 32 × ``layers`` and a tokenizer for ``TEXT``, in evaluation mode."""
    torch.manual_seed(seed)
    tokenizer = build_tokenizer(build_vocabulary([TEXT]))
    sizes = SIZES | {"num_hidden_layers": layers}
    config = BertConfig(vocab_size=len(tokenizer), attn_implementation=attention, **sizes)
    model = BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Larger than usual, so that an effect cannot hide in rounding.
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    return Encoder(model, tokenizer)


def tiny_of_family(family, attention):
    """A tiny model of any family, with pad id 0 unless the family numbers behind the padding."""
    torch.manual_seed(0)
    sizes = dict(SIZES)
    if family == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
        sizes["max_position_embeddings"] = 64
    if family == "rembert":
        sizes |= {"input_embedding_size": 32, "output_embedding_size": 32}
    if family == "albert":
        sizes["embedding_size"] = 32
    if family == "eurobert":
        sizes["num_key_value_heads"] = 4
    config = AutoConfig.for_model(family, vocab_size=60, pad_token_id=1, **sizes)
    model = AutoModel.from_config(config, attn_implementation=attention)
    return Encoder(model.eval(), None)
