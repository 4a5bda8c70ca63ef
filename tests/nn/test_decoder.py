from __future__ import annotations

import pytest
import torch

from tests.nn.cases import BY_NAME, SOURCE_TOKENS, X_TOKENS, X, Y

every_decoder = pytest.mark.parametrize("name", ["decoder_layer", "decoder"])


@every_decoder
@pytest.mark.parametrize("masks", [{}, {"attention_mask": X_TOKENS}], ids=["bare", "padded"])
def test_future_tokens_never_change_a_past_one(name, masks):
    module, changed = BY_NAME[name].module(), X.clone()
    changed[:, 2:] += 100
    whole, other = module(X, Y, **masks), module(changed, Y, **masks)
    assert torch.equal(whole[:, :2], other[:, :2])
    assert not torch.equal(whole[:, 2:], other[:, 2:])


@every_decoder
def test_padding_of_either_sequence_never_changes_a_real_token(name):
    module, noisy_x, noisy_y = BY_NAME[name].module(), X.clone(), Y.clone()
    noisy_x[X_TOKENS == 0] += 100
    noisy_y[SOURCE_TOKENS == 0] += 100
    masks = {"attention_mask": X_TOKENS, "encoder_attention_mask": SOURCE_TOKENS}
    assert torch.equal(module(X, Y, **masks)[X_TOKENS != 0], module(noisy_x, noisy_y, **masks)[X_TOKENS != 0])


@every_decoder
def test_every_position_reads_the_encoders_output(name):
    module, changed = BY_NAME[name].module(), Y.clone()
    changed[:, 6] += 1
    assert (module(X, changed) != module(X, Y)).any(dim=-1).all()
