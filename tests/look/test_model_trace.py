"""A prompt's way through a model, compared with transformers and with the model's own results."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

import headway
from headway.checkpoints import load_checkpoint, open_checkpoint, resolve_model
from headway.errors import OptionError, PromptError, TokenIdError
from headway.functions import softmax
from headway.look.model_trace import ModelTrace, Packed, trace_prompt
from headway.look.model_view import changes
from headway.look.models import traced_model
from headway.look.recording_ops import Ablation, Recorder
from headway.tokenizers import load_tokenizer
from tests.models.saved_by_transformers import OTHER_DECODERS

TOLERANCE = 1e-5
IDS = [5, 17, 3, 40, 8, 22]
TARGET = [11, 30, 2]
SMALL = {"vocab_size": 61, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 24, "intermediate_size": 32}
MODELS = {
    "gpt2": (transformers.GPT2Config(vocab_size=61, n_positions=32, n_embd=24, n_layer=2, n_head=3), transformers.GPT2LMHeadModel),
    "llama": (transformers.LlamaConfig(**SMALL, num_key_value_heads=2), transformers.LlamaForCausalLM),
    "qwen3": (transformers.Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=8), transformers.Qwen3ForCausalLM),
    "bert": (transformers.BertConfig(**SMALL, max_position_embeddings=32), transformers.BertForMaskedLM),
    "t5": (
        transformers.T5Config(vocab_size=61, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_heads=4, decoder_start_token_id=0),
        transformers.T5ForConditionalGeneration,
    ),
    "marian": (
        transformers.MarianConfig(
            vocab_size=61, d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=32, decoder_ffn_dim=32, decoder_start_token_id=60, pad_token_id=60, eos_token_id=0, max_position_embeddings=32,
        ),
        transformers.MarianMTModel,
    ),
}  # fmt: skip

VARIANTS = ("gemma3 with a vision model", "phi3 with longrope", "phi3 beyond its original length", "qwen3_moe with normalized shares")

ENCODERS = {
    "roberta": (transformers.RobertaConfig(**SMALL, max_position_embeddings=34, pad_token_id=1), transformers.RobertaForMaskedLM),
    "distilbert": (
        transformers.DistilBertConfig(vocab_size=61, dim=24, hidden_dim=32, n_layers=2, n_heads=4, max_position_embeddings=32),
        transformers.DistilBertForMaskedLM,
    ),
    "mpnet": (transformers.MPNetConfig(**SMALL, max_position_embeddings=34), transformers.MPNetForMaskedLM),
    "modernbert": (
        transformers.ModernBertConfig(
            **SMALL, global_attn_every_n_layers=2, local_attention=4, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1,
            sep_token_id=2,
        ),
        transformers.ModernBertForMaskedLM,
    ),
}  # fmt: skip


class Words:
    """A tokenizer of which only the texts of tokens are needed."""

    mask_token_id = None

    def token(self, token_id):
        return f"t{token_id}"

    def decode(self, token_ids, *, skip_special_tokens=True):
        return " ".join(f"t{each}" for each in token_ids)


@pytest.fixture(scope="module", params=MODELS)
def saved(request, tmp_path_factory):
    """A small random model, saved by transformers, with its outputs for IDS."""
    config, kind = MODELS[request.param]
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    folder = tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    inputs = {"input_ids": torch.tensor([IDS])}
    if request.param in ("t5", "marian"):
        inputs["decoder_input_ids"] = torch.tensor([[config.decoder_start_token_id, *TARGET]])
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True, output_hidden_states=True)
    return request.param, load_checkpoint(folder), outputs


def arrays(trace, kind):
    """Return the attention weights of all layers of a kind."""
    return [each.weights.array() for each in trace.attentions if each.kind == kind]


def test_attention_equals_that_of_transformers(saved):
    name, checkpoint, outputs = saved
    trace = trace_prompt(checkpoint, Words(), IDS, target=TARGET)
    if name in ("t5", "marian"):
        pairs = {"encoder": outputs.encoder_attentions, "self": outputs.decoder_attentions, "cross": outputs.cross_attentions}
    else:
        pairs = {"self": outputs.attentions}
    for kind, right in pairs.items():
        found = arrays(trace, kind)
        assert len(found) == len(right) == 2
        for own, other in zip(found, right, strict=True):
            np.testing.assert_allclose(own, other[0].numpy(), atol=TOLERANCE, rtol=0)


def test_residual_norms_equal_those_of_transformers_hidden_states(saved):
    name, checkpoint, outputs = saved
    trace = trace_prompt(checkpoint, Words(), IDS, target=TARGET)
    states = outputs.decoder_hidden_states if name in ("t5", "marian") else outputs.hidden_states
    is_normed = name in ("gpt2", "llama", "qwen3", "t5")  # the last of their hidden states is after the final norm
    for own, other in list(zip(trace.residuals, states, strict=True))[: -1 if is_normed else None]:
        np.testing.assert_allclose(own.norms, np.linalg.norm(other[0].numpy(), axis=-1), rtol=1e-4)


def test_the_last_lens_and_the_logits_are_the_models(saved):
    _, checkpoint, outputs = saved
    trace = trace_prompt(checkpoint, Words(), IDS, target=TARGET)
    logits = outputs.logits[0].numpy()
    np.testing.assert_allclose(trace.logits.array(), logits[-1], atol=1e-4, rtol=0)
    for guesses, row in zip(trace.residuals[-1].guesses, torch.softmax(torch.tensor(logits, dtype=torch.float64), -1), strict=True):
        assert guesses[0].token.id == int(row.argmax())
        assert guesses[0].probability == pytest.approx(float(row.max()), abs=1e-4)
    assert [each.id for each in trace.named] == np.argsort(-trace.logits.array(), kind="stable")[:256].tolist()


def test_the_lens_of_a_layer_is_the_model_without_the_layers_after_it(saved):
    name, checkpoint, _ = saved
    if name != "llama":
        pytest.skip("needs an architecture whose layers can be cut off by its config")
    from dataclasses import replace

    shorter = replace(
        checkpoint,
        config=replace(checkpoint.config, num_hidden_layers=1),
        weights=replace(checkpoint.weights, layers=checkpoint.weights.layers[:1]),
    )
    whole, cut = trace_prompt(checkpoint, Words(), IDS), trace_prompt(shorter, Words(), IDS)
    assert whole.residuals[1] == cut.residuals[1]


def test_switching_off_every_head_equals_switching_off_the_attention(saved):
    name, checkpoint, _ = saved
    heads = arrays(trace_prompt(checkpoint, Words(), IDS, target=TARGET), "self")[0].shape[0]
    before = trace_prompt(checkpoint, Words(), IDS, target=TARGET)
    all_heads = trace_prompt(checkpoint, Words(), IDS, target=TARGET, ablated=[Ablation(1, head) for head in range(heads)])
    one = trace_prompt(checkpoint, Words(), IDS, target=TARGET, ablated=[Ablation(1, 0)])
    assert before.logits != one.logits != all_heads.logits
    assert one.residuals[1] == before.residuals[1], name  # a layer does not affect what enters it


def test_without_all_layers_the_residual_stream_is_the_embedding(saved):
    name, checkpoint, _ = saved
    if name in ("bert", "marian"):
        pytest.skip("a post-norm changes the stream")
    trace = trace_prompt(checkpoint, Words(), IDS, target=TARGET, ablated=[Ablation(0), Ablation(1)])
    assert trace.residuals[0] == trace.residuals[-1]


@pytest.mark.parametrize("case", [each for each in OTHER_DECODERS if each.name not in VARIANTS], ids=lambda case: case.name)
def test_every_decoder_has_the_attention_and_the_residual_stream_of_transformers(case, tmp_path):
    model = case.model()
    model.save_pretrained(tmp_path)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        outputs = model(torch.tensor([IDS * 2]), output_attentions=True, output_hidden_states=True)
    checkpoint = load_checkpoint(tmp_path)
    trace = trace_prompt(checkpoint, Words(), IDS * 2)
    assert len(trace.attentions) == len(outputs.attentions) == len(trace.residuals) - 1
    for own, other in zip(arrays(trace, "self"), outputs.attentions, strict=True):
        np.testing.assert_allclose(own, other[0].numpy(), atol=TOLERANCE, rtol=0)
    for own, state in zip(trace.residuals[:-1], outputs.hidden_states[:-1], strict=True):
        np.testing.assert_allclose(own.norms, np.linalg.norm(state[0].numpy(), axis=-1), rtol=1e-4)
    np.testing.assert_allclose(trace.logits.array(), outputs.logits[0, -1].numpy(), atol=1e-4, rtol=0)
    for layer in range(len(trace.attentions)):  # also where a feed-forward network is a mixture of others
        ablated = trace_prompt(checkpoint, Words(), IDS * 2, ablated=[Ablation(layer)])
        assert ablated.residuals[layer + 1] == ablated.residuals[layer]


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_has_the_attention_of_transformers(name, tmp_path):
    config, kind = ENCODERS[name]
    torch.manual_seed(0)
    model = kind(config).eval()
    model.save_pretrained(tmp_path)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        outputs = model(torch.tensor([IDS]), output_attentions=True)
    trace = trace_prompt(load_checkpoint(tmp_path), Words(), IDS)
    for own, other in zip(arrays(trace, "self"), outputs.attentions, strict=True):
        np.testing.assert_allclose(own, other[0].numpy(), atol=TOLERANCE, rtol=0)
    np.testing.assert_allclose(trace.logits.array(), outputs.logits[0, -1].numpy(), atol=1e-4, rtol=0)


def test_a_sink_is_no_position():
    random = np.random.default_rng(0)
    query, key, value = random.standard_normal((3, 1, 2, 4, 8))
    sinks = np.array([0.5, -1.0])
    recorder = Recorder(None)
    result = recorder.ops.attention_with_sinks(query, key, value, sinks, is_causal=True)
    np.testing.assert_allclose(result, recorder.attended[0].weights @ value, atol=1e-12)
    assert recorder.attended[0].weights.shape == (1, 2, 4, 4)


def test_a_part_that_the_model_lacks_is_refused(saved):
    _, checkpoint, _ = saved
    with pytest.raises(OptionError, match="to switch off"):
        trace_prompt(checkpoint, Words(), IDS, target=TARGET, ablated=[Ablation(0, 99)])


@pytest.fixture(scope="module")
def stories():
    path = resolve_model("stories")
    return open_checkpoint(path), load_tokenizer(path)


def test_tokens_have_their_ids_texts_and_bytes(stories):
    checkpoint, tokenizer = stories
    trace = trace_prompt(checkpoint, tokenizer, "The cat's café")
    assert [each.id for each in trace.tokens] == tokenizer.encode("The cat's café")
    assert all(bytes.fromhex(each.bytes).decode() == each.text for each in trace.tokens if each.bytes)


def test_json_is_read_again(stories):
    text = trace_prompt(*stories, "Once").to_json()
    assert ModelTrace.from_json(text).to_json() == text


@pytest.mark.parametrize(
    "options",
    [{}, {"array": "torch", "weights": "none"}, {"array": "jax"}, {"weights": "none", "dtype": "float64"}],
    ids=["int8", "torch", "jax", "float64"],
)
def test_a_loaded_model_has_the_trace_of_its_name(stories, options):
    right = trace_prompt(*stories, "Once upon a time", name="gpt2")
    with headway.load("stories", **options) as model:
        found = headway.look(model, "Once upon a time").trace
    check_close(found, right)


def check_close(found, right):
    """Compare two traces; products of the same numbers at other addresses may differ in the last digit."""
    assert type(found) is type(right)
    if isinstance(right, Packed):
        np.testing.assert_allclose(found.array(), right.array(), rtol=1e-5, atol=1e-5)
    elif dataclasses.is_dataclass(right):
        for each in dataclasses.fields(right):
            check_close(getattr(found, each.name), getattr(right, each.name))
    elif isinstance(right, tuple):
        for pair in zip(found, right, strict=True):
            check_close(*pair)
    else:
        assert found == (pytest.approx(right, rel=1e-5, abs=1e-5) if isinstance(right, float) else right)


def test_a_closed_model_is_refused():
    model = headway.load("stories", weights="none")
    model.close()
    with pytest.raises(OptionError, match="closed"):
        headway.look(model, "Once")


def test_tied_weights_stay_one_array(tmp_path):
    model = transformers.GPT2LMHeadModel(MODELS["gpt2"][0]).half()
    model.save_pretrained(tmp_path)
    checkpoint = load_checkpoint(tmp_path, dtype=None)
    weights = traced_model(SimpleNamespace(checkpoint=checkpoint, tokenizer=Words())).checkpoint.weights
    assert weights.output_head is weights.token_embedding
    assert weights.output_head.dtype == np.float32


def test_changes_are_those_of_the_next_tokens_probabilities(stories):
    view = headway.look("Once upon a", model="stories", compare="Once upon a", ablate=["0"])
    assert view.trace.ablated
    assert not view.compared.ablated
    first, second = (softmax(each.logits.array().astype(np.float64)) for each in view.traces)
    found = changes(*view.traces)
    assert found[0][0].id == int(np.argmax(np.abs(second - first)))
    for token, before, after in found:
        assert (before, after) == (first[token.id], second[token.id])


def test_a_prompt_that_is_too_long_and_ids_that_do_not_exist_are_refused(stories):
    with pytest.raises(PromptError, match="expected at most 512"):
        trace_prompt(*stories, [5] * 513)
    for wrong in (-1, 10**6):
        with pytest.raises(TokenIdError):
            trace_prompt(*stories, [5, wrong])


def test_an_empty_prompt_is_refused(stories):
    with pytest.raises(PromptError, match="without tokens"):
        trace_prompt(*stories, [])
