"""Folders of quantized weights in formats that are not read: each is refused by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from headway.errors import UnsupportedError
from headway.json_files import short_repr

FORMATS = {
    "gptq": "GPTQ",
    "awq": "AWQ",
    "bitsandbytes": "bitsandbytes",
    "bitnet": "BitNet",
    "compressed-tensors": "compressed-tensors",
    "fp8": "FP8 with a scale per block",
    "fbgemm_fp8": "FP8 of FBGEMM",
    "modelopt": "NVIDIA ModelOpt",
    "mxfp4": "MXFP4",
    "quark": "AMD Quark",
    "quanto": "Quanto",
    "aqlm": "AQLM",
    "hqq": "HQQ",
    "eetq": "EETQ",
    "torchao": "torchao",
    "auto-round": "AutoRound",
    "vptq": "VPTQ",
}
"""Names by quant_method of quantization_config."""
BY_FILE = {"quantize_config.json": "GPTQ", "quant_config.json": "AWQ", "hf_quant_config.json": FORMATS["modelopt"]}
"""Names by the file of the quantization, which older folders have instead of a key of config.json."""


def refuse_quantized(folder: Path, keys: Mapping[str, object], *, read: Collection[str] = ()) -> None:
    """Raise UnsupportedError for a folder of quantized weights, with the name of their format, unless its quant_method is read."""
    given = keys.get("quantization_config") or keys.get("compression_config")  # the latter in older folders of compressed-tensors
    method = given.get("quant_method") if isinstance(given, Mapping) else None
    if isinstance(method, str) and method in read:
        return
    if isinstance(method, str):
        name = FORMATS.get(method, short_repr(method))
    elif isinstance(given, Mapping) and (given.get("load_in_8bit") or given.get("load_in_4bit")):
        name = FORMATS["bitsandbytes"]
    elif isinstance(given := keys.get("quantization"), Mapping) and "group_size" in given:  # MLX writes both keys, without a quant_method
        name = f"MLX, {short_repr(given.get('bits', '?'))} bits, {short_repr(given.get('mode', 'affine'))}"
    elif found := [name for file, name in BY_FILE.items() if (folder / file).exists()]:
        name = found[0]
    else:
        return
    raise UnsupportedError(
        f"got {folder} with weights in the format {name}, expected float32, float16 or bfloat16",
        hint="use the model's original folder, which Headway packs to int8 or int4 itself, or a GGUF file of the model",
    )
