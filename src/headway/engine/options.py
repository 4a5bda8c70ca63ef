"""The options of a generation, each defined once.

A field of GenerationOptions is also a keyword of `generate`, `stream` and `chat`, a flag of `headway generate` and
`headway chat`, and (unless `config_key` says otherwise) a key of generation_config.json. Its annotation carries the bounds
and the help text for all of them. To add an option, add the field, its line in GenerationOptionsDict, and the code that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypedDict, get_args, get_type_hints

from headway.engine.option_kinds import Choice, Integer, JsonSchema, Number, Option, Strings, Switch, Text, TokenBiases, TokenIds, is_number
from headway.errors import OptionError

EarlyStopping = bool | Literal["never"]


MAX_BEAMS = 1024
"""Largest num_beams. Every beam has a row in the batch and its own KV cache."""

_SHARE = {"low": 1e-6, "high": 1.0}
"""Bounds of a probability; a smaller one would be 0 in float32 and keep no token."""

_EVERY_TOKEN = "every token"


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """Options of a generation; None means "not set".

    Penalties count the tokens that the decoder sees: the prompt of an encoder–decoder is not among them. The samplers are
    applied in the order temperature, top_k, top_p, min_p, typical_p. Beam search (num_beams above 1) cannot be combined with
    sampling (temperature above 0), num_log_probs, json_schema, regex or grammar.

    Errors   OptionError for a value of the wrong type or outside its bounds, and for options that cannot be combined.

    Source   Graves 2012, section 3 (beam search); Wu et al. 2016, section 7 (length penalty); early_stopping follows Hugging
             Face's generate
    """

    max_new_tokens: Annotated[
        int | None,
        Integer("Generate at most this many tokens.", unset="up to the end of the context", low=1, high=10_000_000),
    ] = None
    min_new_tokens: Annotated[int | None, Integer("Generate no end token before this many tokens.", unset="none", low=0)] = None
    stop: Annotated[
        str | Sequence[str] | None,
        Strings(
            "Stop before this text. Of several, the one that is complete first counts.",
            unset="none",
            config_key="never",
        ),
    ] = None
    json_schema: Annotated[
        Mapping[str, object] | None,
        JsonSchema("Generate JSON that is valid under this schema.", unset="none", config_key="never"),
    ] = None
    regex: Annotated[
        str | None, Text("Generate a text that matches this regular expression as a whole.", unset="none", config_key="never")
    ] = None
    grammar: Annotated[
        str | None, Text("Generate a text of this context-free grammar, in Lark's syntax.", unset="none", config_key="never", is_file=True)
    ] = None
    ignore_end: Annotated[bool, Switch("Continue after end tokens.", config_key="never")] = False
    temperature: Annotated[
        float,
        Number(
            "Sampling temperature. 0 always takes the most likely token; above 1 less likely tokens become more likely.",
            config_key="if sampling",
            low=1e-6,
            high=1e6,
            extra=0.0,
        ),
    ] = 0.0
    top_k: Annotated[
        int | None, Integer("Sample from the k most likely tokens.", unset=_EVERY_TOKEN, off=(0, -1), config_key="if sampling", low=1)
    ] = None
    top_p: Annotated[
        float | None,
        Number(
            "Sample from the most likely tokens whose probabilities add up to this value (nucleus sampling).",
            unset=_EVERY_TOKEN,
            off=(1,),
            config_key="if sampling",
            **_SHARE,
        ),
    ] = None
    min_p: Annotated[
        float | None,
        Number(
            "Sample from tokens whose probability is at least this fraction of the largest one.",
            unset=_EVERY_TOKEN,
            off=(0,),
            config_key="if sampling",
            **_SHARE,
        ),
    ] = None
    typical_p: Annotated[
        float | None,
        Number(
            "Sample from the tokens whose log-probability is closest to the entropy and which add up to this probability.",
            unset=_EVERY_TOKEN,
            off=(1,),
            config_key="if sampling",
            **_SHARE,
        ),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        Number(
            "Above 1, make tokens of the prompt and completion less likely: divide positive logits, multiply negative ones.",
            unset="no penalty",
            off=(1,),
            low=0.01,
            high=100.0,
        ),
    ] = None
    presence_penalty: Annotated[
        float | None,
        Number(
            "Subtract this once from the logit of each token in the completion.",
            unset="no penalty",
            off=(0,),
            config_key="never",
            low=-100.0,
            high=100.0,
        ),
    ] = None
    frequency_penalty: Annotated[
        float | None,
        Number(
            "Subtract this from the logit of a token for each occurrence in the completion.",
            unset="no penalty",
            off=(0,),
            config_key="never",
            low=-100.0,
            high=100.0,
        ),
    ] = None
    logit_bias: Annotated[
        Mapping[int, float] | None,
        TokenBiases(
            "Add a number to the logit of a token; -inf forbids the token.",
            unset="none",
            config_key="never",
            low=-1000.0,
            high=1000.0,
        ),
    ] = None
    no_repeat_ngram_size: Annotated[
        int | None,
        Integer(
            "Never repeat a sequence of this many tokens from the prompt or completion.",
            unset="no limit",
            off=(0,),
            low=1,
        ),
    ] = None
    suppress_tokens: Annotated[Sequence[int] | None, TokenIds("Never generate this token id.", unset="none")] = None
    forced_bos_token_id: Annotated[
        int | None,
        Integer("First token of an answer after the start token, such as the target language.", unset="none", low=0),
    ] = None
    forced_eos_token_id: Annotated[int | None, Integer("Last token when the length limit is reached.", unset="none", low=0)] = None
    seed: Annotated[
        int | None,
        Integer("Seed of the sampling; the same seed gives the same text.", unset="random", config_key="never", low=0),
    ] = None
    num_log_probs: Annotated[
        int | None,
        Integer(
            "Report the log-probability of each token, and those of this many most likely tokens.",
            unset="none",
            config_key="never",
            low=0,
        ),
    ] = None
    num_beams: Annotated[
        int,
        Integer(
            f"Beam search: keep this many continuations. At most {MAX_BEAMS}, because each has its own KV cache. 1 is no search.",
            low=1,
            high=MAX_BEAMS,
        ),
    ] = 1
    num_best: Annotated[
        int,
        Integer(
            "Number of texts that a beam search returns, best first; at most num_beams.",
            config_key="never",
            low=1,
            high=MAX_BEAMS,
        ),
    ] = 1
    length_penalty: Annotated[
        float,
        Number(
            "Beams are ranked by log-probability / length ** length_penalty: above 0 favours long texts, below 0 short ones.",
            low=-50.0,
            high=50.0,
        ),
    ] = 1.0
    early_stopping: Annotated[
        EarlyStopping,
        Choice(
            "End of a beam search: true, once num_beams texts have ended; false, when a better one is unlikely; never, when a "
            "better one is impossible.",
            choices=(True, False, "never"),
        ),
    ] = False
    renormalize_logits: Annotated[bool, Switch("Renormalize the probabilities of a beam search after penalties and forbidden tokens.")] = (
        False
    )

    SAMPLERS: ClassVar = ("temperature", "top_k", "top_p", "min_p", "typical_p")
    """Options that turn sampling on."""

    CONSTRAINTS: ClassVar = ("json_schema", "regex", "grammar")
    """Options that define the allowed texts."""

    def __post_init__(self) -> None:
        for name, option in options().items():
            value = getattr(self, name)
            if value is not None or not may_be_none(name):
                check_option(name, value, option)
        if self.num_best > self.num_beams:
            raise OptionError(
                f"got num_best={self.num_best}, expected an integer from 1 to num_beams={self.num_beams}",
                hint="a beam search returns at most num_beams texts; raise num_beams",
            )
        if self.num_beams > 1 and self.temperature > 0:
            raise OptionError(
                f"num_beams={self.num_beams} and temperature={self.temperature} cannot be combined",
                hint="set temperature=0 for a beam search, or num_beams=1 to sample",
            )
        if self.num_beams > 1 and self.num_log_probs is not None:
            raise OptionError(
                f"num_beams={self.num_beams} and num_log_probs={self.num_log_probs} cannot be combined",
                hint="a beam search reports the score of each text",
            )
        self._check_constraint()

    def _check_constraint(self) -> None:
        given = [name for name in self.CONSTRAINTS if getattr(self, name) is not None]
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} cannot be combined", hint="leave out all but one")
        if given and self.num_beams > 1:
            raise OptionError(
                f"num_beams={self.num_beams} and {given[0]} cannot be combined", hint=f"set num_beams=1, or leave {given[0]} out"
            )
        if given and self.ignore_end:
            raise OptionError(
                f"ignore_end and {given[0]} cannot be combined", hint=f"a text ends when {given[0]} is satisfied; leave ignore_end out"
            )

    @classmethod
    def from_values(cls, values: Mapping[str, object]) -> GenerationOptions:
        """Return options with these values by name; a value of None leaves the default."""
        given: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        return cls(**given)

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """The stop strings as a tuple."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())


class GenerationOptionsDict(TypedDict, total=False):
    """Keywords of `generate`, `stream` and `chat`: the fields of GenerationOptions, each of which may be None."""

    max_new_tokens: int | None
    min_new_tokens: int | None
    stop: str | Sequence[str] | None
    json_schema: Mapping[str, object] | None
    regex: str | None
    grammar: str | None
    ignore_end: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    typical_p: float | None
    repetition_penalty: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logit_bias: Mapping[int, float] | None
    no_repeat_ngram_size: int | None
    suppress_tokens: Sequence[int] | None
    forced_bos_token_id: int | None
    forced_eos_token_id: int | None
    seed: int | None
    num_log_probs: int | None
    num_beams: int | None
    num_best: int | None
    length_penalty: float | None
    early_stopping: EarlyStopping | None
    renormalize_logits: bool | None


@cache
def options() -> dict[str, Option]:
    """Return every option by name, in order."""
    hints = get_type_hints(GenerationOptions, include_extras=True)
    return {field.name: get_args(hints[field.name])[1] for field in fields(GenerationOptions)}


@cache
def may_be_none(name: str) -> bool:
    """Return True if None is a value of the field, and not only of the keyword."""
    return type(None) in get_args(get_type_hints(GenerationOptions)[name])


def default_text(name: str) -> str:
    """Return the default of an option in words, such as "every token" or "1"."""
    default: object = next(field.default for field in fields(GenerationOptions) if field.name == name)
    return options()[name].unset or (f"{default:g}" if is_number(default) else str(default).lower())


def check_option(name: str, value: object, option: Option | None = None, *, default: str | None = None) -> None:
    """Raise OptionError unless the value of an option has the right type and is within its bounds.

    default   the default in words, where it is not that of GenerationOptions
    """
    option = option or options()[name]
    if not option.accepts(value):
        hint = f"leave it out for the default: {default or default_text(name)}"
        raise OptionError(f"got {name}={value!r:.200}, expected {option.expected}", hint=hint)


def _document(name: str, option: Option) -> str:
    return f"    {name:<22}{option.help} Valid: {option.expected}. Default: {default_text(name)}."


GenerationOptions.__doc__ = f"{GenerationOptions.__doc__}\n" + "\n".join(_document(name, option) for name, option in options().items())
