from __future__ import annotations

import pytest
import torch
import transformers

from headway import nn
from headway.checkpoints import load_checkpoint
from headway.errors import ShapeError, TokenIdError
from headway.models import gpt2
from headway.trees import leaves
from tests.functions.close import assert_close
from tests.nn.cases import BY_NAME, GPT2_CONFIG, HEADS, HIDDEN, IDS, INNER, LAYERS, SEQ, TABLE, VOCAB

RIGHT = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
LEFT = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])


def test_transformers_computes_the_same_from_the_same_checkpoint(tmp_path):
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=TABLE, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS, n_inner=INNER, bos_token_id=0, eos_token_id=0
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    for parameter in theirs.parameters():
        parameter.data = torch.randn_like(parameter) / max(parameter.shape[-1], 4) ** 0.5
    theirs.save_pretrained(tmp_path)
    mine = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, intermediate_size=INNER).eval()
    mine.load_weights(load_checkpoint(tmp_path).weights)
    with torch.no_grad():
        torch.testing.assert_close(mine(IDS), theirs(IDS).logits, atol=1e-5, rtol=1e-5)
        padded = theirs(IDS, attention_mask=RIGHT).logits[RIGHT != 0]
        torch.testing.assert_close(mine(IDS, attention_mask=RIGHT)[RIGHT != 0], padded, atol=1e-5, rtol=1e-5)


def test_the_model_computes_the_same_from_the_same_tree_with_padding_on_the_left():
    module = BY_NAME["gpt2"].module()
    expected = gpt2.forward(IDS, module.weights(), GPT2_CONFIG, padding=torch.tensor([2, 0]))
    assert_close(module(IDS, attention_mask=LEFT)[LEFT != 0], expected[LEFT != 0])


def test_the_paths_are_those_of_the_model():
    paths = [path for path, _ in leaves(BY_NAME["gpt2"].module().weights())]
    assert set(paths) == set(gpt2.stored_weights(GPT2_CONFIG))


@pytest.mark.parametrize("tokens", [RIGHT, LEFT], ids=["right", "left"])
def test_padding_never_changes_a_real_token(tokens):
    module, noisy = BY_NAME["gpt2"].module(), IDS.clone()
    noisy[tokens == 0] = (noisy[tokens == 0] + 1) % VOCAB
    came = module(IDS, attention_mask=tokens)
    assert torch.equal(came[tokens != 0], module(noisy, attention_mask=tokens)[tokens != 0])
    assert_close(came[0][tokens[0] != 0], module(IDS[:1, tokens[0] != 0])[0])
    assert came.isfinite().all()


def test_future_tokens_never_change_a_past_one():
    module, changed = BY_NAME["gpt2"].module(), IDS.clone()
    changed[:, 3] = (changed[:, 3] + 1) % VOCAB
    whole, other = module(IDS), module(changed)
    assert torch.equal(whole[:, :3], other[:, :3])
    assert (whole[:, 3:] != other[:, 3:]).any(dim=-1).all()


def test_the_sum_of_embedding_and_position_is_dropped_at_once():
    module = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, dropout=nn.DropoutRates(embedding=0.3))
    seen = []
    module.layers[0].register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[0]))
    torch.manual_seed(0)
    module(IDS)
    module.eval()(IDS)
    dropped, whole = seen
    torch.testing.assert_close(dropped, torch.where(dropped == 0, 0, whole / 0.7))
    assert abs((dropped == 0).double().mean() - 0.3) < 4 * (0.3 * 0.7 / whole.numel()) ** 0.5


def test_it_trains_with_the_dropout_that_gpt2_was_trained_with():
    assert nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS).layers[0].dropout == nn.DropoutRates(0.1, 0.1, 0.1)


def test_a_tied_head_is_one_parameter_after_a_copy_to_another_dtype_too():
    module = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS).double()
    assert module.output_head is module.token_embedding
    assert len(list(module.parameters())) == len(module.state_dict()) - 1
    untied = nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS, is_tied=False)
    assert len(list(untied.parameters())) == len(untied.state_dict())


def test_a_new_model_starts_as_gpt2_does():
    module = nn.GPT2(500, 200, 48, HEADS, num_layers=8)
    deviations = {path: parameter.std().item() for path, parameter in module.named_parameters() if parameter.ndim > 1}
    for path, deviation in deviations.items():
        expected = 0.02 / 4 if path.endswith(("output.weight", "down.weight")) else 0.02  # 4 = √(2 · 8)
        assert deviation == pytest.approx(expected, rel=0.1), path
    assert all((p == 0).all() for path, p in module.named_parameters() if path.endswith("bias"))
    assert all((p == 1).all() for path, p in module.named_parameters() if path.endswith("norm.weight"))


def test_a_sequence_longer_than_the_position_table_is_an_error():
    module = nn.GPT2(VOCAB, SEQ - 1, HIDDEN, HEADS, LAYERS)
    with pytest.raises(ShapeError, match="(?s)got 5 tokens, expected at most 4, the number of position embeddings.*shorten the sequence"):
        module(IDS)


def test_an_id_outside_the_vocabulary_is_an_error():
    with pytest.raises(TokenIdError, match="got token id 23, expected 0 to 22"):
        nn.GPT2(VOCAB, TABLE, HIDDEN, HEADS, LAYERS)(torch.tensor([[0, VOCAB]]))
