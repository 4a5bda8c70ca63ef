"""Every generation option is a flag of `headway generate` and `headway chat`."""

from __future__ import annotations

import pytest
from typer.main import get_command

from headway.cli import app
from headway.cli.options import generation_values, read_bytes
from headway.engine.option_kinds import Choice, Switch, TokenBiases
from headway.engine.options import default_text, options
from headway.errors import OptionError

OPTIONS = options()
every_command = pytest.mark.parametrize("command", ["generate", "chat"])
every_option = pytest.mark.parametrize("name", OPTIONS)


def parameters(command):
    return {parameter.name: parameter for parameter in get_command(app).commands[command].params}


@every_command
@every_option
def test_every_option_is_a_flag_with_its_help_and_default(command, name):
    parameter, option = parameters(command)[name], OPTIONS[name]
    assert f"--{name.replace('_', '-')}" in parameter.opts
    assert parameter.help.startswith(option.help)
    assert name == "max_new_tokens" or f"{default_text(name)}]" in parameter.help
    assert parameter.default is None
    assert bool(parameter.secondary_opts) == isinstance(option, Switch)


@every_command
def test_no_flag_hides_another(command):
    flags = [flag for parameter in parameters(command).values() for flag in (*parameter.opts, *parameter.secondary_opts)]
    assert len(flags) == len(set(flags))
    assert {"-m", "-n"} <= set(flags)


@every_command
def test_generation_flags_come_before_the_array_library(command):
    names = list(parameters(command))
    assert names[names.index("array") - len(OPTIONS) : names.index("array")] == list(OPTIONS)


def test_flags_that_are_not_given_are_left_to_the_model():
    assert generation_values(dict.fromkeys(OPTIONS)) == {}
    assert generation_values({"stop": [], "suppress_tokens": []}) == {}


@every_option
def test_values_that_mean_off_become_none(name):
    for value in OPTIONS[name].off:
        assert generation_values({name: str(value)}) == {name: None}


@pytest.mark.parametrize("value", ["abc", "0", "-1", "1.5"])
def test_a_wrong_number_names_the_valid_ones_and_the_default_of_the_command(value):
    with pytest.raises(OptionError, match=r"got max_new_tokens='?[-\w.]+'?, expected an integer from 1 to 10000000") as caught:
        generation_values({"max_new_tokens": value}, {"max_new_tokens": "400"})
    assert caught.value.hint == "leave it out for the default: 400"


def test_numbers_are_read():
    assert generation_values({"max_new_tokens": "5", "temperature": "0.5"}) == {"max_new_tokens": 5, "temperature": 0.5}


def test_choices_and_biases_are_converted():
    for name, option in OPTIONS.items():
        if isinstance(option, Choice):
            assert [generation_values({name: str(each).lower()})[name] for each in option.choices] == list(option.choices)
        if isinstance(option, TokenBiases):
            assert generation_values({name: ["5=-1.5", "6=-inf"]}) == {name: {5: -1.5, 6: float("-inf")}}
            with pytest.raises(OptionError, match="got --logit-bias 5:1, expected TOKEN_ID=BIAS"):
                generation_values({name: ["5:1"]})


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("4GiB", 4 << 30), ("500MB", 500_000_000), ("1.5 kib", 1536), ("2g", 2 * 10**9)]
)
def test_a_size_of_memory(text, size):
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1GB", "4 apples", "1e9", "GiB", "9" * 400])
def test_a_wrong_size_of_memory(text):
    with pytest.raises(OptionError, match="expected a number of bytes"):
        read_bytes(text)
