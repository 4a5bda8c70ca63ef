"""GGUF files of small encoders that transformers saved: names of tensors and special tokens by llama.cpp's own package.

What is left out, renamed and cut off follows ggml-org/llama.cpp, conversion/base.py and bert.py.
"""

from __future__ import annotations

import base64
import io
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import gguf
import numpy
import sentencepiece
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from headway.tokenizers.sentencepiece_file import _fields
from tests.checkpoints.gguf_files import write
from tests.tokenizers.test_pairs import CORPUS, SPECIAL, byte_level

WORDS = "[PAD] [unused0] [UNK] [CLS] [SEP] [MASK] paris is the capital of france play ##ing ##s . a ( ) : query find na ##ive 今".split()
CAPITALS = [*WORDS, "Paris", "France", "Na"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 40}
SKIPPED = ("pooler.", "cls.", "lm_head.", "vocab_", "embeddings.position_ids")
README = (Path(__file__).parents[2] / "README.md").read_text().split("\n")


@lru_cache(1)
def unigram() -> tokenizers.Tokenizer:
    """XLM-RoBERTa's tokenizer, as transformers converts a SentencePiece model with the usual normalizer."""
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        **{"sentence_iterator": iter(CORPUS + README), "model_writer": trained, "vocab_size": 400, "minloglevel": 2},
        **{"model_type": "unigram", "normalization_rule_name": "nmt_nfkc"},
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    normalizer = next(value for number, _, value in _fields(trained.getvalue()) if number == 3)
    charsmap = next(value for number, _, value in _fields(normalizer) if number == 2)
    pieces = [(piece, 0.0) for piece in SPECIAL[:4]]
    pieces += [(theirs.IdToPiece(each), theirs.GetScore(each)) for each in range(3, theirs.GetPieceSize())]
    backend = tokenizers.Tokenizer(models.Unigram([*pieces, ("<mask>", 0.0)], 3))
    backend.normalizer = normalizers.Precompiled(charsmap)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(SPECIAL)
    backend.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A", "</s>"], pair=["<s>", "$A", "</s>", "</s>", "$B", "</s>"], special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return backend


def modern_bert() -> tokenizers.Tokenizer:
    """ModernBERT's tokenizer: byte-level BPE of composed characters, with one separator between two texts."""
    backend = byte_level()
    backend.normalizer = normalizers.NFC()
    backend.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A", "</s>"], pair=["<s>", "$A", "</s>", "$B:1", "</s>:1"], special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return backend


def save(folder: Path, kind: str, *, words: list[str] = WORDS, pooling: str | None = None, **keys: Any) -> Path:
    """Save a random model of a class of transformers with its tokenizer; its pooling in the files of sentence-transformers."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind.startswith(("Bert", "DistilBert")):
        (folder / "vocab.txt").write_text("\n".join(words))
        options = {"do_lower_case": words is WORDS, "model_max_length": 40}
        tokenizer: Any = transformers.BertTokenizer(str(folder / "vocab.txt"), **options)
        keys |= {"pad_token_id": 0}
    else:
        names = {"bos": 0, "cls": 0, "pad": 1, "eos": 2, "sep": 2, "unk": 3, "mask": 4}
        backend = {"Robe": byte_level, "Mode": modern_bert}.get(kind[:4], unigram)()
        named = {f"{name}_token": SPECIAL[index] for name, index in names.items()}
        longest = SIZES["max_position_embeddings"] - (0 if kind.startswith("Mode") else 2)
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=longest, **named)
        keys |= {
            f"{name}_token_id": names[name]
            for name in (("pad", "bos", "eos", "cls", "sep") if kind[:4] == "Mode" else ("pad", "bos", "eos"))
        }
    tokenizer.save_pretrained(folder)
    if "num_labels" in keys:
        names = {index: f"class {index}" for index in range(keys.pop("num_labels"))}
        keys |= {"id2label": names, "label2id": {name: index for index, name in names.items()}}
    sizes = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads", "intermediate_size": "hidden_dim"}
    own = {sizes.get(name, name): value for name, value in SIZES.items()} if kind.startswith("Distil") else SIZES
    family = getattr(transformers, kind)
    torch.manual_seed(0)
    model = family(family.config_class(vocab_size=len(tokenizer), **own | keys))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    if pooling:
        modules = [{"type": f"sentence_transformers.models.{each}", "path": path} for each, path in (("Transformer", ""), ("Pooling", "1"))]
        modules.append({"type": "sentence_transformers.models.Normalize", "path": "2"})
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1").mkdir()
        (folder / "1" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    return folder


def round_matrices(folder: Path, kind: str, leaves_out: tuple[str, ...] = ()) -> None:
    """Round the matrices of a folder's model to the numbers of a format."""
    from safetensors.numpy import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    number_format = gguf.GGMLQuantizationType[kind]
    for name, array in tensors.items():
        if is_matrix(name, array) and not any(part in name for part in leaves_out):
            tensors[name] = gguf.quants.dequantize(gguf.quants.quantize(array, number_format), number_format).astype(numpy.float32)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def is_matrix(name: str, array: numpy.ndarray) -> bool:
    return array.ndim == 2 and "position_embeddings" not in name and "token_type_embeddings" not in name


def convert(folder: Path, path: Path, *, kind: str = "F32", pooling: int | None = None, squeezes: bool = False) -> Path:
    """Write a folder's model as llama.cpp's converter does; squeezes writes matrices of one row as vectors, as its quantizer does."""
    from safetensors.numpy import load_file

    config = transformers.AutoConfig.from_pretrained(folder)
    offset = config.pad_token_id + 1 if "roberta" in config.model_type else 0
    is_modern = config.model_type == "modernbert"
    writer = gguf.GGUFWriter(path, "modern-bert" if is_modern else "bert")
    if is_modern:
        add_modern_bert(writer, config)
    writer.add_context_length(config.max_position_embeddings - offset)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(getattr(config, "intermediate_size", getattr(config, "hidden_dim", 0)))
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_eps(config.norm_eps if is_modern else getattr(config, "layer_norm_eps", 1e-12))
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    labels = [] if config.id2label[0] == "LABEL_0" else [config.id2label[each] for each in sorted(config.id2label)]
    if labels:
        writer.add_classifier_output_labels(labels)
    add_vocabulary(writer, folder)
    writer.add_token_type_count(getattr(config, "type_vocab_size", 1))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MODERN_BERT if is_modern else gguf.MODEL_ARCH.BERT, config.num_hidden_layers)
    for name, array in load_file(folder / "model.safetensors").items():
        name = re.sub(r"^(bert|roberta|distilbert|model)\.", "", name)
        if name.startswith(SKIPPED):
            continue
        if name in ("classifier.weight", "classifier.bias") and labels:
            name = name.replace("classifier", "classifier.out_proj")
        array = array[offset:] if name == "embeddings.position_embeddings.weight" else array
        number_format = gguf.GGMLQuantizationType[kind if is_matrix(name, array) else "F32"]
        array = array[0] if squeezes and len(array) == 1 and array.ndim == 2 else array
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        writer.add_tensor(stored, gguf.quants.quantize(array, number_format), raw_dtype=number_format)
    write(writer)
    return path


def add_modern_bert(writer: gguf.GGUFWriter, config: Any) -> None:
    """Add what files of ModernBERT have in addition, such as the activation, for which the package has no function yet."""
    writer.add_string("modern-bert.hidden_activation", config.hidden_activation)
    writer.add_sliding_window(config.local_attention)
    are_local = [each == "sliding_attention" for each in config.layer_types]
    is_periodic = are_local == [index % 3 != 0 for index in range(config.num_hidden_layers)]
    writer.add_sliding_window_pattern(3 if is_periodic else are_local)
    writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    writer.add_rope_freq_base(config.rope_parameters["full_attention"]["rope_theta"])
    writer.add_rope_freq_base_swa(config.rope_parameters["sliding_attention"]["rope_theta"])
    if config.classifier_pooling == "cls":
        writer.add_uint32("modern-bert.classifier.pooling_type", 2)


def add_vocabulary(writer: gguf.GGUFWriter, folder: Path) -> None:
    state = json.loads((folder / "tokenizer.json").read_text())
    model, special = state["model"], {each["content"] for each in state["added_tokens"] if each["special"]}
    pieces = model["vocab"] if model["type"] == "Unigram" else sorted(model["vocab"], key=model["vocab"].get)
    tokens = [piece[0] for piece in pieces] if model["type"] == "Unigram" else pieces
    types = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    if model["type"] == "WordPiece":
        tokens = [token if token in special else token.removeprefix("##") if token.startswith("##") else "▁" + token for token in tokens]
    elif model["type"] == "Unigram":
        types[3] = gguf.TokenType.UNKNOWN
        # The model file of XLM-RoBERTa has no mask token, and the token in its place is unused.
        tokens[-1], types[-1] = "[PAD250000]", gguf.TokenType.UNUSED
        writer.add_token_scores([*(piece[1] for piece in pieces[:-1]), -10000.0])
        writer.add_add_space_prefix(True)
        writer.add_remove_extra_whitespaces(False)
        writer.add_precompiled_charsmap(base64.b64decode(state["normalizer"]["precompiled_charsmap"]))
    writer.add_tokenizer_model({"WordPiece": "bert", "Unigram": "t5", "BPE": "gpt2"}[model["type"]])
    byte_level_name = "modern-bert" if state["normalizer"] else "roberta-bpe"
    writer.add_tokenizer_pre({"WordPiece": "jina-v2-en", "Unigram": "default", "BPE": byte_level_name}[model["type"]])
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    gguf.SpecialVocab(folder, load_merges=model["type"] == "BPE", n_vocab=len(tokens)).add_to_gguf(writer)
