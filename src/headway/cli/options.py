"""Options and output that several subcommands share."""

from __future__ import annotations

import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, TypeAlias, TypedDict, cast

import typer

from headway.cli.array_library import ArrayLibrary
from headway.engine.option_kinds import Choice, Integer, JsonSchema, Number, Option, Strings, Switch, Text, TokenBiases, TokenIds
from headway.engine.options import check_option, default_text, options
from headway.errors import OptionError, quantity
from headway.json_files import parse_json_object
from headway.language_model import Chunk, GenerationOptionsDict


class Cache(StrEnum):
    """Storage of keys and values in the compiled kernels."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    int16 = "int16"
    int8 = "int8"


WEIGHTS = ("auto", "none", "float32", "bfloat16", "int8", "int4")

Model = Annotated[str, typer.Option("--model", "-m", help="stories (included), a folder, or a Hugging Face name such as Qwen/Qwen2-0.5B.")]
Array = Annotated[ArrayLibrary, typer.Option(help="Array library.")]
Dtype = Annotated[
    str, typer.Option(help="float32, bfloat16, float16 or float64; on NumPy, half precision saves memory but is about 10 times slower.")
]
PackedWeights = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar=f"[{'|'.join(WEIGHTS)}]",
        autocompletion=lambda: list(WEIGHTS),
        help="Storage of the weights in the compiled kernels, on NumPy. none runs the definitions instead; auto is int8 for encoders, "
        "gpt2, llama, qwen2 and qwen3, else none.",
    ),
]
CacheKind = Annotated[
    Cache | None,
    typer.Option(
        "--cache",
        help="Storage of keys and values in the compiled kernels.  [default: that of the weights if float32 or bfloat16, else int16]",
    ),
]
CacheMemory = Annotated[
    str | None,
    typer.Option(
        "--cache-memory",
        help="Memory for the keys and values of the compiled kernels, such as 500MB or 4GiB; taken as it is needed.  "
        "[default: half of the free memory]",
    ),
]
Threads = Annotated[int | None, typer.Option(help="Number of threads of the compiled kernels.  [default: one per core]")]
Device = Annotated[str | None, typer.Option(help="Device of torch: cpu, cuda, …  [default: that of torch]")]
Adapter = Annotated[
    list[str] | None,
    typer.Option(
        help="FOLDER of a LoRA adapter, as the library PEFT saves it; or NAME=FOLDER, repeatable: several for one model. "
        "Commands that generate one text use the first."
    ),
]
IgnoreConfigKey = Annotated[list[str] | None, typer.Option(help="Unsupported key of config.json that you know has no effect; repeatable.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
System = Annotated[str | None, typer.Option(help="System message before the prompt; needs a model with a chat template.")]

SHORT_FLAGS = {"max_new_tokens": "-n"}


def with_generation_flags(**defaults: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command one flag per field of GenerationOptions.

    The flags take the place of the command's `**generation`, which receives the values that were given; see generation_values.
    In --help they come before --array.

    defaults   text for "[default: …]" by option name, where the command has a default of its own
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: object) -> None:
            generation = generation_values({name: values.pop(name) for name in options()}, defaults)
            command(**values, **generation)

        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        flags = [_parameter(name, option, _default_of(name, option, defaults)) for name, option in options().items()]
        place = [each.name for each in own].index("array")
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own[:place], *flags, *own[place:])]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        del run.__wrapped__  # typer would read its annotations
        return run

    return decorate


def generation_values(given: Mapping[str, object], defaults: Mapping[str, str] | None = None) -> GenerationOptionsDict:
    """Return the flags that were given as keywords of `generate`; values such as --top-k 0 become None, which turns an option off.

    defaults   text for the default of an option, by name, where the command has a default of its own

    Errors   OptionError for a value that is not valid, a logit bias that is not TOKEN_ID=BIAS, and a file that cannot be read.
    """
    values: dict[str, object] = {}
    for name, option in options().items():
        value = given.get(name)
        if value is None or value == []:
            continue
        if isinstance(option, Choice):
            value = next(choice for choice in option.choices if str(choice).lower() == value)
        elif isinstance(option, Integer | Number):
            value = _parse_number(cast(str, value), int if isinstance(option, Integer) else float)
        elif isinstance(option, TokenBiases):
            value = dict(map(_parse_bias, cast(list[str], value)))
        elif isinstance(option, JsonSchema):
            value = _read_schema(cast(str, value))
        elif isinstance(option, Text) and option.is_file:
            value = _read_option_file(f"--{name}", cast(str, value))
        values[name] = None if value in option.off else value
        if values[name] is not None:
            check_option(name, value, option, default=_default_of(name, option, defaults or {}))
    return cast(GenerationOptionsDict, values)


def _default_of(name: str, option: Option, defaults: Mapping[str, str]) -> str:
    """Return the default of an option of a command in words."""
    own = default_text(name) if option.config_key == "never" else f"the model's, or {default_text(name)}"
    return defaults.get(name, own)


def _parameter(name: str, option: Option, default: str) -> inspect.Parameter:
    """Return the command parameter of a generation option."""
    kind: type | UnionType
    flag, metavar = f"--{name.replace('_', '-')}", None
    if isinstance(option, Integer | Number):
        kind, metavar = str, "<int>" if isinstance(option, Integer) else "<float>"  # generation_values converts it, for its error
    elif isinstance(option, Switch):
        kind, flag = bool, f"{flag}/--no-{name.replace('_', '-')}"
    elif isinstance(option, Choice):
        kind = _str_enum(name, {str(choice).lower(): str(choice).lower() for choice in option.choices})
    elif isinstance(option, TokenIds):
        kind = list[int]
    elif isinstance(option, TokenBiases):
        kind, metavar = list[str], "TOKEN_ID=BIAS"
    elif isinstance(option, Text | JsonSchema):
        kind, metavar = str, "TEXT" if isinstance(option, Text) and not option.is_file else "FILE"
    else:
        assert isinstance(option, Strings)
        kind = list[str]
    flags = [flag, SHORT_FLAGS[name]] if name in SHORT_FLAGS else [flag]
    text = option.help + (" Repeatable." if isinstance(option, TokenIds | TokenBiases | Strings) else "")
    text += f"  [default: {default}]"
    annotation = Annotated[kind | None, typer.Option(*flags, help=text, metavar=metavar)]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


_str_enum = cast(Callable[[str, dict[str, str]], type[StrEnum]], StrEnum)
"""StrEnum with names known at run time only."""


def _parse_number(text: str, kind: type[int] | type[float]) -> object:
    """Return the number that a text says; the text if it says none."""
    try:
        return kind(text)
    except ValueError:
        return text


def _parse_bias(text: str) -> tuple[int, float]:
    token_id, _, bias = text.partition("=")
    try:
        return int(token_id), float(bias)
    except ValueError:
        raise OptionError(f"got --logit-bias {text}, expected TOKEN_ID=BIAS", hint="for example --logit-bias 50256=-100") from None


def _read_schema(path: str) -> dict[str, object]:
    return parse_json_object(_read_option_file("--json-schema", path), path, OptionError)


def _read_option_file(flag: str, path: str) -> str:
    """Return the text of a file.

    Errors   OptionError for a file that cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"got {flag} {path!r:.200}, expected a text file that can be read ({reason})") from error


def read_bytes(text: str) -> int:
    """Return a number of bytes written such as 4GiB, 500MB or 1000000.

    Errors   OptionError for anything else.
    """
    units = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]i?)?b?", text.strip().lower())
    size = int(float(match[1]) * units[match[2] or ""]) if match else 0
    if size < 1:
        raise OptionError(f"got {text[:50]!r}, expected a number of bytes", hint="write it as 500MB or 4GiB")
    return size


class Alternative(TypedDict):
    """One of the next best texts of a beam search, for JSON."""

    text: str
    score: float | None
    finish_reason: str
    num_new_tokens: int


@dataclass
class PrintedStream:
    """Text of a stream that was printed, and its timing."""

    text: str = ""
    last: Chunk = field(default_factory=lambda: Chunk(""))
    num_tokens: int = 0
    seconds_to_first_token: float = 0.0
    seconds: float = 0.0
    log_probs: list[float] = field(default_factory=list)
    top_log_probs: list[Mapping[int, float]] = field(default_factory=list)

    @property
    def tokens_per_second(self) -> float:
        """Throughput after the first token; of a beam search, over the whole time."""
        if self.last.score is not None:
            return self.num_tokens / max(self.seconds, 1e-9)
        return (self.num_tokens - 1) / max(self.seconds - self.seconds_to_first_token, 1e-9) if self.num_tokens > 1 else 0.0

    def figures(self) -> dict[str, object]:
        """Return everything but the text, for JSON."""
        figures: dict[str, object] = {
            "finish_reason": self.last.finish_reason,
            "num_new_tokens": self.num_tokens,
            "seconds_to_first_token": round(self.seconds_to_first_token, 4),
            "tokens_per_second": round(self.tokens_per_second, 1),
        }
        if self.log_probs:
            figures |= {"log_probs": self.log_probs, "top_log_probs": self.top_log_probs}
        if self.last.score is not None:
            figures |= {
                "score": self.last.score,
                "alternatives": [_alternative(self.last, index) for index in range(len(self.last.alternatives))],
            }
        return figures

    def summary(self) -> str:
        """Return one line about length and throughput."""
        reasons = {"stop": "end of text", "length": "length limit", None: "interrupted"}
        start = f"{quantity(self.num_tokens, 'token')} ({reasons[self.last.finish_reason]}), "
        if self.last.score is not None:
            return f"{start}found after {self.seconds_to_first_token:.3f} s"
        rate = f", then {self.tokens_per_second:,.0f} tokens/s" if self.num_tokens > 1 else ""
        return f"{start}first token after {self.seconds_to_first_token:.3f} s{rate}"


def print_stream(chunks: Iterator[Chunk], *, before: str = "", quiet: bool = False) -> PrintedStream:
    """Print chunks on stdout as they arrive, and the throughput on stderr.

    The alternatives of a beam search are printed below, one per line. After an interrupt, the line is ended before
    KeyboardInterrupt continues.

    before   text to print before the stream, and before each alternative
    quiet    print nothing on stdout
    """
    printed, started = PrintedStream(), time.perf_counter()
    texts: list[str] = []

    def write(text: str) -> None:
        if not quiet:
            sys.stdout.write(text)
            sys.stdout.flush()

    try:
        write(before)
        for chunk in chunks:
            if not printed.num_tokens:
                printed.seconds_to_first_token = time.perf_counter() - started
            printed.num_tokens, printed.last = printed.num_tokens + 1, chunk
            if chunk.log_prob is not None:
                printed.log_probs.append(chunk.log_prob)
                printed.top_log_probs.append(chunk.top_log_probs)
            texts.append(chunk.text)
            write(chunk.text)
        for alternative in printed.last.alternatives:
            write(f"\n{before}{alternative.text}")
    finally:
        printed.text, printed.seconds = "".join(texts), time.perf_counter() - started
        write("\n")
        print(printed.summary(), file=sys.stderr)
    return printed


def _alternative(last: Chunk, index: int) -> Alternative:
    other = last.alternatives[index]
    return {"text": other.text, "score": other.score, "finish_reason": other.finish_reason, "num_new_tokens": len(other.token_ids)}


JSON: TypeAlias = Mapping[str, object] | Sequence[Mapping[str, object]] | Sequence[float]


def print_json(value: JSON) -> None:
    """Print one JSON value on stdout."""
    print(json.dumps(value, ensure_ascii=False))
