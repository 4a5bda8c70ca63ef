"""What a call asks for, and what the model's own generation_config.json asks for where the call does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headway.engine import BeamOptions, Request, SamplingOptions
from headway.errors import CheckpointError, OptionError, PromptError, UnsupportedError

SAMPLERS = ("temperature", "top_k", "top_p", "min_p", "typical_p")
SAMPLING = tuple(each.name for each in fields(SamplingOptions))
BEAMS = tuple(each.name for each in fields(BeamOptions))
LENGTHS = ("max_new_tokens", "min_new_tokens")

_OWN = {
    *("max_new_tokens", "min_new_tokens", "max_length", "min_length"),
    *("repetition_penalty", "no_repeat_ngram_size", "suppress_tokens", "forced_bos_token_id", "forced_eos_token_id"),
    *("num_beams", "length_penalty", "early_stopping", "renormalize_logits"),
}
"""Keys of generation_config.json that are read; those of SAMPLERS too where the file samples."""

_OFF: dict[str, tuple[Any, ...]] = {
    "top_k": (0, -1),
    "top_p": (1,),
    "min_p": (0,),
    "typical_p": (1,),
    "repetition_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "max_length": (20,),  # what transformers takes, and has written into files, where nobody said anything
}
"""What published files write for off."""

_REFUSED: dict[str, tuple[Any, ...]] = {
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
"""Keys of generation_config.json that would change the result and are not built here, and what they are when off."""

_REFUSED_SAMPLERS: dict[str, tuple[Any, ...]] = {"epsilon_cutoff": (0,), "eta_cutoff": (0,), "top_h": ()}
"""The same where the file samples."""


@dataclass(frozen=True)
class GenerationOptions:
    """How prompts are to be continued: what a Request takes, but for the prompt.

    max_length, min_length   the model's own bounds of prompt and completion together, where the call gives none of the completion
    """

    sampling: SamplingOptions
    beams: BeamOptions
    max_new_tokens: int | None = None
    min_new_tokens: int | None = None
    max_length: int | None = None
    min_length: int | None = None

    def request(self, prompt: Sequence[int], num_decoder_tokens: int, end_token_ids: Sequence[int]) -> Request:
        """A request, whose decoder begins with so many tokens: the prompt, or the start token of an encoder–decoder.

        Errors   PromptError where max_length leaves no room.
        """
        most, least = self.max_new_tokens, self.min_new_tokens
        if self.max_length is not None:
            most = self.max_length - num_decoder_tokens
            if most < 1:
                raise PromptError(
                    f"came: a prompt of {num_decoder_tokens} tokens; expected: at most {self.max_length - 1}, by max_length in the "
                    "model's generation_config.json; give max_new_tokens, or shorten the prompt"
                )
        if self.min_length is not None:
            least = max(self.min_length - num_decoder_tokens, 0)
        return Request(prompt, most, end_token_ids, self.sampling, self.beams, least)


def options_of(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> GenerationOptions:
    """The options of a call, and the model's own where it does not say; None switches off what the model's own switch on.

    A call that asks for a search switches the model's own sampling off, and one that asks to sample its search.

    Errors   OptionError for an option that does not exist, or out of its range.
    """
    known = {*LENGTHS, *SAMPLING, *BEAMS}
    unknown = sorted(set(given) - known)
    if unknown:
        raise OptionError(
            f"came: option {', '.join(unknown)}; expected: max_new_tokens, stop, ignore_end, {', '.join(sorted(known - {'max_new_tokens'}))}"
        )
    values = {**defaults, **given}
    if given.get("num_beams") not in (None, 1):
        values |= {name: given.get(name) for name in SAMPLERS}
    elif any(given.get(name) for name in SAMPLERS):
        values["num_beams"] = given.get("num_beams")
    if values.get("temperature") is None:
        values["temperature"] = 1.0 if any(values.get(name) is not None for name in SAMPLERS) else 0.0
    beams = BeamOptions(**{name: values[name] for name in BEAMS if values.get(name) is not None})
    idle = [name for name in ("length_penalty", "early_stopping") if given.get(name) is not None]
    if beams.num_beams == 1 and idle and "num_beams" not in given:
        raise OptionError(f"came: {idle[0]}={given[idle[0]]!r} without a search; expected: num_beams of at least 2 with it")
    return GenerationOptions(
        SamplingOptions(**{name: values[name] for name in SAMPLING if name in values}),
        beams,
        max_new_tokens=values.get("max_new_tokens"),
        min_new_tokens=values.get("min_new_tokens"),
        max_length=None if "max_new_tokens" in given else values.get("max_length"),
        min_length=None if "min_new_tokens" in given else values.get("min_length"),
    )


def own_options(generation_config: Mapping[str, Any]) -> dict[str, Any]:
    """What generation_config.json asks for, as options by name, and max_length and min_length.

    Errors   UnsupportedError for a key that would change the result and is not built here; CheckpointError for a value out of its
             range.
    """
    is_sampling = bool(generation_config.get("do_sample"))
    refused = {**_REFUSED, **(_REFUSED_SAMPLERS if is_sampling else {})}
    given = {key: value for key, value in generation_config.items() if value not in (None, [], {}, *_OFF.get(key, ()))}
    wrong = {key: given[key] for key, off in refused.items() if key in given and given[key] not in off}
    bad_words = given.get("bad_words_ids", [])
    if not all(isinstance(word, list) and len(word) == 1 for word in bad_words):
        wrong["bad_words_ids"] = bad_words
    if is_sampling and given.get("num_beams", 1) != 1:
        wrong |= {"do_sample": True, "num_beams": given["num_beams"]}
    if wrong:
        raise UnsupportedError(
            f"came: generation_config.json with {wrong}; expected: none of these, which are not built here; take them out of the file"
        )
    own = {name: value for name, value in given.items() if name in _OWN or (is_sampling and name in SAMPLERS)}
    if is_sampling:
        own.setdefault("temperature", 1.0)
    if "max_new_tokens" in own:
        own.pop("max_length", None)
    if "min_new_tokens" in own:
        own.pop("min_length", None)
    ends = token_ids_of(generation_config, "eos_token_id")
    silent = [*token_ids_of(generation_config, "suppress_tokens"), *(word[0] for word in bad_words if word[0] not in ends)]
    if silent:
        own["suppress_tokens"] = silent
    try:
        options_of({}, own).request([0], 0, ())
    except (OptionError, PromptError, TypeError) as error:
        raise CheckpointError(f"{error}; this stands in the model's generation_config.json") from error
    return own


def token_ids_of(generation_config: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """The token ids under a key that holds one, or a list, or nothing.

    Errors   CheckpointError for anything else.
    """
    given = generation_config.get(name)
    token_ids = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(token_id, int) and not isinstance(token_id, bool) for token_id in token_ids):
        raise CheckpointError(f"came: generation_config.json with {name}={given!r}; expected: a token id, or a list of them")
    return tuple(token_ids)
