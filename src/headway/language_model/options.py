"""Options of a call merged with the defaults in the model's generation_config.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from headway.engine import GenerationOptions
from headway.engine.option_kinds import is_integer
from headway.engine.options import check_option, options
from headway.errors import CheckpointError, OptionError, PromptError, UnsupportedError

SAMPLERS: tuple[str, ...] = GenerationOptions.SAMPLERS
LENGTHS = ("max_length", "min_length")

_OFF: dict[str, tuple[object, ...]] = {
    **{name: option.off for name, option in options().items()},
    "max_length": (20,),  # the default of transformers, which it used to write into every file
}
"""Values by key that mean "not set", in addition to null and empty lists."""

_REFUSED: dict[str, tuple[object, ...]] = {
    "penalty_alpha": (0,),
    "guidance_scale": (1,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1,),
    "begin_suppress_tokens": (),
    "sequence_bias": (),
    "exponential_decay_length_penalty": (),
    "force_words_ids": (),
    "constraints": (),
    "forced_decoder_ids": (),
    "watermarking_config": (),
    "stop_strings": (),
}
"""Keys of generation_config.json that would change the result and are not supported, with the values that turn them off."""

_REFUSED_SAMPLERS: dict[str, tuple[object, ...]] = {"epsilon_cutoff": (0,), "eta_cutoff": (0,), "top_h": ()}
"""The same for keys that only matter if the file sets do_sample."""

ModelOptions: TypeAlias = Mapping[str, object]
"""Defaults of a model: options by name, and max_length and min_length."""


@dataclass(frozen=True)
class MergedOptions:
    """Options of a call with the model's defaults filled in.

    max_length, min_length   limits of the model on prompt and completion together, if the call does not limit the completion
    """

    options: GenerationOptions
    max_length: int | None = None
    min_length: int | None = None

    def for_prompt(self, num_decoder_tokens: int) -> GenerationOptions:
        """Return the options with max_new_tokens and min_new_tokens for a prompt.

        num_decoder_tokens   length of the prompt; 1 for an encoder–decoder, whose decoder starts with one token

        Errors   PromptError if the prompt is longer than max_length allows.
        """
        options = self.options
        if self.max_length is not None:
            if self.max_length <= num_decoder_tokens:
                raise PromptError(
                    f"got a prompt of {num_decoder_tokens} tokens, expected at most {self.max_length - 1} (max_length in the model's "
                    "generation_config.json)",
                    hint="set max_new_tokens, or shorten the prompt",
                )
            options = replace(options, max_new_tokens=self.max_length - num_decoder_tokens)
        if self.min_length is not None:
            options = replace(options, min_new_tokens=max(self.min_length - num_decoder_tokens, 0))
        return options


def merge_options(given: Mapping[str, object], defaults: ModelOptions) -> MergedOptions:
    """Return the options of a call with the model's defaults filled in; None turns off an option that the model sets.

    A call with num_beams above 1 turns off the model's sampling. A call with a sampling option turns off its beam search.

    Errors   OptionError for an unknown option, a wrong value, or options that cannot be combined.
    """
    unknown = sorted(set(given) - set(options()))
    if unknown:
        raise OptionError(f"got option {', '.join(unknown)}, expected {', '.join(options())}", hint="check the spelling")
    for name, value in given.items():
        if value is not None:
            check_option(name, value)
    values = {**defaults, **given}
    if given.get("num_beams") not in (None, 1):
        values |= {name: given.get(name) for name in SAMPLERS}
    elif any(given.get(name) for name in SAMPLERS):
        values["num_beams"] = given.get("num_beams")
    if values.get("temperature") is None:
        values["temperature"] = 1.0 if any(values.get(name) is not None for name in SAMPLERS) else 0.0
    merged = GenerationOptions.from_values({name: value for name, value in values.items() if name not in LENGTHS})
    unused = [name for name in ("length_penalty", "early_stopping") if given.get(name) is not None]
    if merged.num_beams == 1 and unused and "num_beams" not in given:
        raise OptionError(
            f"got {unused[0]}={given[unused[0]]!r} without a beam search, expected num_beams of at least 2 with it",
            hint=f"set num_beams, or leave {unused[0]} out",
        )
    return MergedOptions(
        merged,
        max_length=None if "max_new_tokens" in given else _length(values, "max_length"),
        min_length=None if "min_new_tokens" in given else _length(values, "min_length"),
    )


def own_options(generation_config: Mapping[str, object]) -> dict[str, object]:
    """Return the defaults that generation_config.json sets: options by name, and max_length and min_length.

    Errors   UnsupportedError for a key that would change the result and is not supported; CheckpointError for a wrong value.
    """
    is_sampling = bool(generation_config.get("do_sample"))
    refused = {**_REFUSED, **(_REFUSED_SAMPLERS if is_sampling else {})}
    given = {key: value for key, value in generation_config.items() if value not in (None, [], {}, *_OFF.get(key, ()))}
    wrong = {key: given[key] for key, off in refused.items() if key in given and given[key] not in off}
    bad_words = _bad_words(given)
    if not all(len(word) == 1 for word in bad_words):
        wrong["bad_words_ids"] = bad_words
    if is_sampling and given.get("num_beams", 1) != 1:
        wrong |= {"do_sample": True, "num_beams": given["num_beams"]}
    if wrong:
        raise UnsupportedError(
            f"got generation_config.json with {wrong}, expected supported keys and values",
            hint=f"remove {', '.join(wrong)} from the file if you can do without",
        )
    read = {
        name for name, option in options().items() if option.config_key == "always" or (option.config_key == "if sampling" and is_sampling)
    }
    own = {name: value for name, value in given.items() if name in read or name in LENGTHS}
    if is_sampling:
        own.setdefault("temperature", 1.0)
    if "max_new_tokens" in own:
        own.pop("max_length", None)
    if "min_new_tokens" in own:
        own.pop("min_length", None)
    ends = token_ids_of(generation_config, "eos_token_id")
    suppressed = [*token_ids_of(generation_config, "suppress_tokens"), *(word[0] for word in bad_words if word[0] not in ends)]
    if suppressed:
        own["suppress_tokens"] = suppressed
    try:
        merge_options({}, own).for_prompt(0)
    except (OptionError, PromptError) as error:
        raise CheckpointError(f"{error}, in generation_config.json", hint="correct the file, or download the model again") from error
    return own


def token_ids_of(generation_config: Mapping[str, object], name: str) -> tuple[int, ...]:
    """Return the token ids under a key of generation_config.json: one, a list, or none.

    Errors   CheckpointError for anything else.
    """
    given = generation_config.get(name)
    token_ids = given if isinstance(given, list) else [] if given is None else [given]
    if not all(is_integer(token_id) for token_id in token_ids):
        raise CheckpointError(f"got generation_config.json with {name}={given!r:.200}, expected a token id or a list of token ids")
    return tuple(token_ids)


def _bad_words(given: Mapping[str, object]) -> Sequence[Sequence[int]]:
    """Return bad_words_ids: a list of token sequences."""
    words = given.get("bad_words_ids", [])
    if not isinstance(words, list) or not all(isinstance(word, list) and word and all(map(is_integer, word)) for word in words):
        raise CheckpointError(f"got generation_config.json with bad_words_ids={words!r:.200}, expected a list of lists of token ids")
    return words


def _length(values: Mapping[str, object], name: str) -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < (1 if name == "max_length" else 0):
        raise OptionError(f"got {name}={value!r:.200}, expected an integer of at least {1 if name == 'max_length' else 0}")
    return value
