"""Loading of language models: the checkpoint, its tokenizer, and the compiled or captured twin that computes its passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import cast

from headway.arrays import check_computing
from headway.checkpoints import open_checkpoint, resolve_model, with_adapter
from headway.checkpoints.classification import read_classifier_options
from headway.checkpoints.sentence_transformers import read_sentence_options
from headway.errors import HeadwayError, ModelNotFoundError, OptionError
from headway.kernels import operations
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.compiled_encoder import CompiledEncoder
from headway.kernels.cpu.progress import Progress
from headway.kernels.cpu.thread_pool import check_num_threads
from headway.language_model.decoders import can_compile, captured_decoder, compiled_decoder, weights_kind
from headway.language_model.encoders import can_compile_encoder, compiled_encoder
from headway.language_model.model import LanguageModel
from headway.runners import CapturedDecoder
from headway.tokenizers import load_tokenizer


def load(
    name_or_folder: str | PathLike[str] = "stories",
    *,
    array: str = "numpy",
    dtype: str = "float32",
    device: str | None = None,
    weights: str = "auto",
    cache: str | None = None,
    num_threads: int | None = None,
    cache_bytes: int | None = None,
    adapter: str | PathLike[str] | None = None,
    adapters: Mapping[str, str | PathLike[str]] | None = None,
    ignored_config_keys: Collection[str] = (),
    progress: Progress | None = None,
    tell: Progress | None = None,
) -> LanguageModel:
    """Load a model: `stories` (included), a folder, a llama2.c file, or a Hugging Face name, downloaded on first use.

    array        array library: numpy, torch, jax or mlx
    dtype        float32, bfloat16, float16 or float64
    device       of torch, such as "cuda"; the default device of torch if None
    weights      how the compiled kernels store the weights: float32, bfloat16, int8 or int4; "none" runs the
                 definitions on the checkpoint's own tensors; "auto" is int8 on NumPy for architectures with compiled kernels,
                 else "none", and captures decode steps as CUDA graphs with torch on CUDA
    cache        how the compiled kernels store keys and values: float32, bfloat16, int16 or int8; by default that of float32
                 and bfloat16 weights, else int16
    num_threads  threads of the compiled kernels; one per physical core by default
    cache_bytes  memory for keys and values of the compiled kernels; half of the free memory by default, taken as it is needed
    adapter      folder of a LoRA adapter. The compiled kernels use weights into which it is merged; the definitions compute it
                 next to the weights
    adapters     folders of LoRA adapters by name, any of which a call can choose: see LanguageModel.load_adapter
    ignored_config_keys   unsupported keys of config.json that you know have no effect
    progress     called with a description, the amount done and the total, during work that is only needed the first time;
                 by default this work is logged
    tell         deprecated name of progress

    Errors   ModelNotFoundError, CheckpointError, UnsupportedError, TokenizerError, OptionError.

    >>> import headway
    >>> model = headway.load("stories")
    >>> model.generate("Once upon a time", max_new_tokens=3, temperature=0).finish_reason
    'length'
    """
    if tell is not None:
        warnings.warn("load(tell=…) is deprecated, use progress=…", DeprecationWarning, stacklevel=2)
        progress = tell
    if num_threads is not None:
        check_num_threads(num_threads)
    check_computing(array, dtype, device)
    path, kind = resolve(name_or_folder), weights_kind(weights, array, dtype)
    stored_dtype = None if kind != "none" else dtype
    checkpoint = open_checkpoint(path, array=array, dtype=stored_dtype, device=device, ignored_config_keys=ignored_config_keys)
    is_encoder = checkpoint.architecture.KIND == "encoder"
    if kind != "none" and (is_encoder or (weights == "auto" and not can_compile(checkpoint))):
        del checkpoint  # before its weights are read again: those of gpt-oss are no views of a file
        checkpoint = open_checkpoint(path, ignored_config_keys=ignored_config_keys)
        if not is_encoder or (weights == "auto" and not can_compile_encoder(checkpoint)):
            kind = "none"
    adapter_folder = None if adapter is None else Path(adapter)
    if adapter_folder is not None:
        checkpoint = with_adapter(checkpoint, adapter_folder, array=array, device=device, merges=kind != "none")
    for name, given, is_used in (("cache", cache, kind != "none" and not is_encoder), ("num_threads", num_threads, kind != "none")):
        if given is not None and not is_used:
            raise OptionError(
                f"got {name}={given!r} for a model without packed weights, expected a decoder on numpy with packed weights",
                hint=f"leave {name} out",
            )
    decoder: CompiledDecoder | CapturedDecoder | None = None
    make_encoder: Callable[[], CompiledEncoder] | None = None
    if kind != "none" and is_encoder:
        make = partial(compiled_encoder, progress=progress) if progress else compiled_encoder
        make_encoder = partial(make, checkpoint, path, kind, num_threads=num_threads)
    elif kind != "none":
        make_decoder = partial(compiled_decoder, progress=progress) if progress else compiled_decoder
        decoder = make_decoder(checkpoint, path, kind, num_threads=num_threads, cache_kind=cache, adapter=adapter_folder)
    elif weights == "auto" and array == "torch" and adapter is None and not adapters:
        decoder = cast(CapturedDecoder | None, captured_decoder(checkpoint, operations(array)))
    model = LanguageModel(
        checkpoint,
        load_tokenizer(path),
        lambda: read_sentence_options(path),
        lambda: read_classifier_options(path),
        array=array,
        device=device,
        decoder=decoder,
        make_encoder=make_encoder,
        cache_bytes=cache_bytes,
    )
    for name, each in (adapters or {}).items():
        model.load_adapter(name, each)
    return model


def load_without_kernels(name_or_folder: str | PathLike[str] = "stories", *, ignored_config_keys: Collection[str] = ()) -> LanguageModel:
    """Load a model whose passes other processes compute: its weights stay in the file, except MXFP4 weights, which are dequantized.

    It encodes and decodes texts and makes requests. Errors are those of load.
    """
    path = resolve(name_or_folder)
    checkpoint = open_checkpoint(path, dtype=None, ignored_config_keys=ignored_config_keys)
    return LanguageModel(checkpoint, load_tokenizer(path), lambda: read_sentence_options(path))


def resolve(name_or_folder: str | PathLike[str]) -> Path:
    """Return the path of a model.

    Errors   ModelNotFoundError for no such model, and for a name that no file can have.
    """
    if not isinstance(name_or_folder, str | PathLike):
        raise ModelNotFoundError(f"got {name_or_folder!r:.200}, expected the name or path of a model")
    try:
        return resolve_model(str(name_or_folder) if isinstance(name_or_folder, str) else Path(name_or_folder))
    except HeadwayError:
        raise
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"got {str(name_or_folder)!r:.100}, expected the name or path of a model ({error.args[-1]!s:.100})"
        ) from error
