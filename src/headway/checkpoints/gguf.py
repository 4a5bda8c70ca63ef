"""Loading a GGUF file as a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy

from headway.arrays import check_computing
from headway.checkpoints.gguf_blocks import PLAIN, QuantizedRows, dequantize
from headway.checkpoints.gguf_encoder_keys import has_classifier
from headway.checkpoints.gguf_keys import config_keys
from headway.checkpoints.gguf_metadata import shape_of
from headway.checkpoints.reading import Checkpoint, read_config
from headway.checkpoints.weight_tree import expect_enough_tensors, read_weights
from headway.errors import CheckpointError
from headway.gguf_file import GGUFFile
from headway.json_files import short_repr
from headway.models import architecture
from headway.models.encoder_decoder_names import StackNames, stored_stacks, with_optional_decoder
from headway.models.encoder_decoder_spec import EncoderDecoderSpec
from headway.models.encoder_names import EncoderNames, HeadNames, stored_encoder
from headway.models.encoder_spec import EncoderSpec
from headway.models.spec import DecoderSpec, NormSpec
from headway.models.stored import Stored
from headway.models.tensor_names import EXPERTS, TensorNames, stored_decoder

EXPERT = re.compile(r"(blk\.\d+\.ffn_(?:gate|up|down)_exps)\.(\d+)\.(weight|bias)")
"""The name of one expert's matrix; the file has one tensor for all experts."""
UNUSED = re.compile(r"rope_freqs\.weight|rope_factors_(long|short)\.weight|dec\.blk\.0\.cross_attn_rel_b\.weight")
"""The factors of rotary frequencies, which are part of the config, and a bias that no version of T5 uses."""
PERMUTED = {"llama", "smollm3", "granite"}
"""Architectures whose query and key rows are permuted, because llama.cpp rotates neighbouring coordinates."""
PARTS = {
    "attention_norm": "attn_norm",
    "attention.query": "attn_q",
    "attention.key": "attn_k",
    "attention.value": "attn_v",
    "attention.output": "attn_output",
    "attention.query_norm": "attn_q_norm",
    "attention.key_norm": "attn_k_norm",
    "attention.sinks": "attn_sinks",
    "attention_output_norm": "post_attention_norm",
    "feed_forward_norm": "ffn_norm",
    "feed_forward.gate": "ffn_gate",
    "feed_forward.up": "ffn_up",
    "feed_forward.down": "ffn_down",
    "feed_forward.router": "ffn_gate_inp",
    f"{EXPERTS}gate": "ffn_gate_exps.{}",
    f"{EXPERTS}up": "ffn_up_exps.{}",
    f"{EXPERTS}down": "ffn_down_exps.{}",
    "feed_forward_output_norm": "post_ffw_norm",
}
SUM_NORMS = {"attention_sum_norm": "attn_output_norm", "feed_forward_sum_norm": "layer_output_norm"}
ENCODER = EncoderNames(
    "token_embd",
    "blk.{}",
    PARTS | SUM_NORMS,
    "token_embd_norm",
    HeadNames("", "", "", ("",), classifier_output="cls.output", classifier_dense="cls", classifier_norm="cls.norm"),
    position_embedding="position_embd",
    token_type_embedding="token_types",
    norm="output_norm",
)
STACK_PARTS = PARTS | {
    "attention.output": "attn_o",
    "cross_attention_norm": "cross_attn_norm",
    **{f"cross_attention.{part}": f"cross_attn_{part[0]}" for part in ("query", "key", "value", "output")},
}
END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
"""Keys of tokenizer.ggml whose tokens end a text."""


def load_gguf(path: Path, *, array: str = "numpy", dtype: str | None = "float32", device: str | None = None) -> Checkpoint:
    """Load a GGUF file, version 2 or 3, of a decoder or an encoder.

    dtype   dtype of the weights; None leaves float32, float16 and bfloat16 as they are, and converts a quantized matrix when it is used

    Errors   CheckpointError for a broken file, and for tensors that are missing, unexpected or of another shape; UnsupportedError for an
             architecture, a number format or a metadata value that is not supported.
    """
    if dtype is not None:
        check_computing(array, dtype, device)
    file = GGUFFile(path)
    keys = config_keys(file)
    module = architecture(keys["model_type"])
    config = read_config(module, keys, ())
    spec, heads = module.spec(config), {}
    if file.metadata["general.architecture"] in PERMUTED:
        attention = spec.layers[0].attention
        heads = {"attn_q": attention.num_heads, "attn_k": attention.num_kv_heads}
    tensors = _Tensors(file, heads, keeps_blocks=dtype is None).by_name()
    expect_enough_tensors(config, tensors)
    if module.KIND == "encoder":
        table = _stored_encoder(spec, replace(ENCODER, parts=_parts(file) | SUM_NORMS))
        if not has_classifier(file):
            tensors = {name: tensor for name, tensor in tensors.items() if name.partition(".")[0] != "cls"}
    elif module.KIND == "encoder-decoder":
        table = _stored_encoder_decoder(spec, is_tied="output.weight" not in file.tensors)
    else:
        spec = _without_offsets(spec)
        names = TensorNames("token_embd", "blk.{}", _parts(file), "output_norm", position_embedding="position_embd", output_head="output")
        table = stored_decoder(spec, names, is_tied="output.weight" not in file.tensors) | _stored_sinks(spec, names)
    weights = read_weights(module, config, table, tensors, array=array, dtype=dtype, device=device)
    return Checkpoint(module, config, weights, _generation_config(file))


def _parts(file: GGUFFile) -> dict[str, str]:
    """Return the names of a layer's tensors, some of which hold several matrices in some files."""
    parts = dict(PARTS)
    if "blk.0.attn_qkv.weight" in file.tensors:
        parts |= dict.fromkeys(("attention.query", "attention.key", "attention.value"), "attn_qkv")
    if "blk.0.ffn_gate.weight" not in file.tensors:
        parts["feed_forward.gate"] = "ffn_up"
    if "blk.0.ffn_norm.weight" not in file.tensors:  # gpt-oss
        parts["feed_forward_norm"] = "post_attention_norm"
    return parts


def _stored_encoder(spec: EncoderSpec, names: EncoderNames) -> dict[str, Stored]:
    """Return the place of each leaf of an encoder, and of its classifier unless its hidden layer is the pooler, which no file has."""
    parts = (None, "classifier") if spec.classifier.hidden else (None,)
    return {path: place for path, place in stored_encoder(spec, names, is_tied=False).items() if place.part in parts}


def _stored_encoder_decoder(spec: EncoderDecoderSpec, *, is_tied: bool) -> dict[str, Stored]:
    """Return the place of each leaf of an encoder–decoder, whose decoder some files leave out."""
    embedding = Stored("token_embd.weight", (spec.vocab_size, spec.hidden_size))
    head = embedding if is_tied else replace(embedding, name="output.weight")
    table = {"token_embedding": embedding, "target_embedding": embedding, "output_head": head}
    encoder, decoder = (
        StackNames(f"{stack}.blk.{{}}", STACK_PARTS, f"{stack}.output_norm", f"{stack}.blk.0.attn_rel_b") for stack in ("enc", "dec")
    )
    return with_optional_decoder(table | stored_stacks(spec, encoder, decoder))


def _stored_sinks(spec: DecoderSpec, names: TensorNames) -> dict[str, Stored]:
    """Return the places of the attention sinks."""
    sinks = {index: layer.attention.num_heads for index, layer in enumerate(spec.layers) if layer.attention.has_sinks}
    path, part = "layers.{}.attention.sinks", names.parts["attention.sinks"]
    return {path.format(index): Stored(f"{names.layer.format(index)}.{part}.weight", (count,)) for index, count in sinks.items()}


def _without_offsets(spec: DecoderSpec) -> DecoderSpec:
    """Return the description of a decoder whose norms are stored as they are used."""

    def plain(norm: NormSpec | None) -> NormSpec | None:
        return norm and replace(norm, has_unit_offset=False)

    layers = [
        replace(
            layer,
            attention=replace(layer.attention, query_key_norm=plain(layer.attention.query_key_norm)),
            attention_norm=plain(layer.attention_norm),
            attention_output_norm=plain(layer.attention_output_norm),
            feed_forward_norm=plain(layer.feed_forward_norm),
            feed_forward_output_norm=plain(layer.feed_forward_output_norm),
        )
        for layer in spec.layers
    ]
    return replace(spec, layers=tuple(layers), norm=replace(spec.norm, has_unit_offset=False))


class _Tensors:
    """The tensors of a file as arrays: rows in the order of Hugging Face, and each expert's matrix on its own."""

    def __init__(self, file: GGUFFile, heads: Mapping[str, int], *, keeps_blocks: bool) -> None:
        """Take the number of heads of the matrices whose rows are permuted, by the part of the tensor's name.

        keeps_blocks   True to return quantized matrices as QuantizedRows, which are converted when they are used
        """
        self.file, self.heads, self.keeps_blocks = file, heads, keeps_blocks

    def by_name(self) -> dict[str, _Tensors]:
        """Return the tensors by name, without those that are no weights."""
        names: list[str] = []
        for name, info in self.file.tensors.items():
            stem, _, kind = name.rpartition(".")
            is_stacked = EXPERT.fullmatch(f"{stem}.0.{kind}")
            # A wrong number of experts cannot make this list long: the numbers of the tensor are in the file.
            names += [f"{stem}.{index}.{kind}" for index in range(info.shape[0])] if is_stacked else [name]
        return {name: self for name in names if not UNUSED.fullmatch(name)}

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        stacked = EXPERT.fullmatch(name)
        return self.file.tensors[f"{stacked[1]}.{stacked[3]}"].shape[1:] if stacked else shape_of(self.file, name)

    def tensor(self, name: str) -> Any:
        """Return a tensor over the mapped file if it is float32, float16 or bfloat16, else in float32 or as QuantizedRows."""
        stacked = EXPERT.fullmatch(name)
        stored_name = f"{stacked[1]}.{stacked[3]}" if stacked else name
        info = self.file.tensors[stored_name]
        number_format = info.format
        shape = shape_of(self.file, stored_name)
        row_bytes = shape[-1] // number_format.block_size * number_format.num_bytes
        rows = self.file.data(stored_name).reshape(*shape[:-1], row_bytes)
        rows = rows[int(stacked[2])] if stacked else rows
        part = name.split(".")[-2]
        if part in self.heads and rows.ndim == 1:  # a bias, whose rows are its numbers
            return _in_halves(name, dequantize(rows, number_format), self.heads[part])
        if part in self.heads:
            rows = _in_halves(name, rows, self.heads[part])
        if number_format.name in PLAIN:
            return numpy.ascontiguousarray(rows).view(PLAIN[number_format.name])
        if self.keeps_blocks and rows.ndim == 2:
            return QuantizedRows(rows, number_format)
        return dequantize(rows, number_format)

    def release(self, name: str) -> None:
        """Return the memory that reading a tensor took to the system."""
        if not EXPERT.fullmatch(name):
            self.file.release(name)


def _in_halves(name: str, rows: numpy.ndarray, num_heads: int) -> numpy.ndarray:
    """Return rows of pairs of neighbouring rotary coordinates in each head as those of first and second halves."""
    if len(rows) % (2 * num_heads):
        raise CheckpointError(f"got the tensor {name} of {len(rows)} rows, expected a multiple of {2 * num_heads}")
    return rows.reshape(num_heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _generation_config(file: GGUFFile) -> dict[str, Any]:
    """Return the token ids that begin and end a text, as in generation_config.json."""
    names = {key: f"tokenizer.ggml.{key}" for key in ("bos_token_id", *END_KEYS)}
    names["decoder_start_token_id"] = f"{file.metadata['general.architecture']}.decoder_start_token_id"
    ids = {key: file.metadata.get(name) for key, name in names.items()}
    for key, token_id in ids.items():
        if token_id is not None and (not isinstance(token_id, int) or isinstance(token_id, bool)):
            raise CheckpointError(f"got {file.path} with {names[key]}={short_repr(token_id)}, expected a token id")
    found = {key: ids[key] for key in ids if key not in END_KEYS and ids[key] is not None}
    ends = list(dict.fromkeys(ids[key] for key in END_KEYS if ids[key] is not None))
    return found | ({"eos_token_id": ends} if ends else {})
