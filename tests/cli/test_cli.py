"""The command line; in a process of its own where that makes a difference."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from platformdirs import user_cache_path

import headway as package
from headway.checkpoints import save_checkpoint
from headway.models import t5
from headway.tokenizers import byte_tokenizer
from tests.cli.command import COMMAND, headway, headway_process
from tests.small_models import random_weights


def test_generate_prints_the_prompt_and_a_story_and_the_throughput_on_stderr():
    result = headway("generate", "Once upon a time", "--seed", "1")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Once upon a time")
    assert len(result.stdout.split()) > 60
    assert re.fullmatch(r"\d+ tokens \((end of text|length limit)\), first token after [\d.]+ s, then [\d,]+ tokens/s\n", result.stderr)


def test_one_token_is_in_the_singular():
    assert headway("generate", "-n", "1", "Once").stderr.startswith("1 token (length limit), first token after ")


def test_the_same_seed_gives_the_same_text_and_python_gives_it_too():
    first, second = (headway("generate", "The little fox", "--seed", "5", "-n", "40", "--no-echo").stdout for _ in range(2))
    completion = package.load("stories").generate("The little fox", max_new_tokens=40, seed=5)
    assert first == second == completion.text + "\n"


@pytest.mark.parametrize("array", ["torch", "jax", "mlx"])
def test_every_array_library_writes_the_same_text(array):
    arguments = ("generate", "One rainy day", "--seed", "3", "-n", "60")
    assert headway(*arguments, "--array", array).stdout == headway(*arguments, "--weights", "none").stdout


@pytest.mark.parametrize("weights", ["none", "float32", "bfloat16", "int8", "int4"])
def test_every_kind_of_weights_writes_a_story(weights):
    arguments = ("generate", "Once upon a time", "--temperature", "0", "-n", "25", "--weights", weights)
    result = headway(*arguments, *([] if weights == "none" else ["--threads", "2"]))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Once upon a time, there was a ")
    if weights != "none":
        assert headway(*arguments, "--cache", "int8").stdout.startswith("Once upon a time, there was a ")


def test_packed_float32_weights_write_what_the_definitions_write():
    arguments = ("generate", "The little fox", "--seed", "7", "-n", "80")
    assert headway(*arguments, "--weights", "float32").stdout == headway(*arguments, "--weights", "none").stdout


@pytest.mark.slow
def test_a_first_run_packs_and_later_ones_do_not(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    (tmp_path / "headway").mkdir()
    compiled = user_cache_path("headway") / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    (tmp_path / "headway" / "compiled").symlink_to(compiled)
    first = headway_process("generate", "Once", "-n", "5", "--temperature", "0", **environment)
    (packed,) = (tmp_path / "headway" / "packed").iterdir()
    before = packed.stat().st_mtime_ns
    assert headway_process("generate", "Once", "-n", "5", "--temperature", "0", **environment).stdout == first.stdout
    assert packed.stat().st_mtime_ns == before


def test_a_prompt_from_stdin_and_json_out():
    result = headway("generate", "--json", "--seed", "2", "-n", "12", stdin="The little fox\n")
    answer = json.loads(result.stdout)
    assert answer["prompt"] == "The little fox"
    assert answer["num_new_tokens"] == 12
    assert answer["finish_reason"] == "length"
    assert {"model", "text", "seconds_to_first_token", "tokens_per_second"} <= answer.keys()


def test_a_stop_string_ends_the_text():
    answer = json.loads(headway("generate", "Once upon a time", "--seed", "1", "--stop", ".", "--json").stdout)
    assert answer["finish_reason"] == "stop"
    assert "." not in answer["text"]


def test_generate_follows_a_json_schema_in_a_file(tmp_path):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    schema = {"type": "object", "properties": {"age": {"enum": [7, 8]}}, "required": ["age"], "additionalProperties": False}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    (tmp_path / "list.lark").write_text('start: "[" number ("," number)~2 "]"\nnumber: /[0-9]/')
    flags = ("--no-echo", "--temperature", "0")
    assert json.loads(headway("generate", "Tom is", "--json-schema", str(tmp_path / "schema.json"), *flags).stdout)["age"] in (7, 8)
    assert len(json.loads(headway("generate", "Tom is", "--grammar", str(tmp_path / "list.lark"), *flags).stdout)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", ""), "headway: error: got an empty prompt, expected at least one token"),
        (("generate", "word " * 2000), "expected at most 511"),
        (
            ("generate", "a", "--temperature", "-1"),
            "headway: error: got temperature=-1.0, expected 0, or a number from 1e-06 to 1e+06\nhint: ",
        ),
        (("generate", "a", "--weights", "int8", "--array", "torch"), "weights='int8'"),
        (("generate", "a", "--weights", "none", "--threads", "2"), "got num_threads=2 for a model without packed weights"),
        (("generate", "a", "--array", "torch", "--cache", "int8"), "got cache='int8' for a model without packed weights"),
        (("generate", "a", "--threads", "0"), "got num_threads=0, expected an integer from 1 to 1024"),
        (("generate", "a", "--top-p", "1.5"), "got top_p=1.5, expected a number from 1e-06 to 1"),
        (("generate", "a", "--top-p", "1e-50"), "got top_p=1e-50, expected a number from 1e-06 to 1"),
        (("generate", "a", "--num-beams", "0"), "got num_beams=0"),
        (("generate", "a", "--num-beams", "100000"), "got num_beams=100000, expected an integer from 1 to 1024"),
        (("generate", "a", "--num-beams", "2", "--num-best", "3"), "got num_best=3, expected an integer from 1 to num_beams=2"),
        (("generate", "a", "--num-beams", "2", "--temperature", "0.5"), "num_beams=2 and temperature=0.5 cannot be combined"),
        (("generate", "a", "--length-penalty", "2"), "got length_penalty=2.0 without a beam search"),
        (("generate", "a", "--early-stopping", "soon"), "never"),
        (("generate", "a", "--no-repeat-ngram-size", "-1"), "got no_repeat_ngram_size=-1"),
        (("generate", "a", "--model", "./nowhere"), "./nowhere"),
        (("generate", "a", "--array", "tensorflow"), "numpy"),
        (("generate", "a", "--dtype", "int3"), "got dtype 'int3'"),
        (("generate", "a", "--device", "cuda"), "got device 'cuda' with numpy"),
        (("generate", "a", "--array", "torch", "--device", "xyz"), "got device 'xyz'"),
        (("generate", "a", "--array", "jax", "--dtype", "float64"), "64-bit types"),
        (("generate", "a", "--nonsense"), "No such option"),
        (("generate", "a", "--model", "x" * 5000), "neither a folder nor a file"),
        (("generate", "a", "--weights", "int3"), "weights='int3'"),
        (("generate", "a", "--stop", ""), "expected a non-empty string"),
        (("generate", "a", "--logit-bias", "5"), "got --logit-bias 5, expected TOKEN_ID=BIAS"),
        (("generate", "a", "--logit-bias", "5=1e308"), "expected token ids with numbers from -1000 to 1000, or -inf"),
        (("generate", "a", "--prompt-file", "b"), "a prompt and --prompt-file cannot be combined"),
        (("generate", "--prompt-file", "/nowhere/b"), "expected a text file that can be read (No such file or directory)"),
        (("generate", "a", "--system", "b"), "got --system for stories, which has no chat template, expected a chat model"),
        (
            ("chat", "--model", "stories", "hello"),
            "got stories, which has no chat template, expected a chat model\nhint: use headway generate",
        ),
        (("generate", "a", "--json-schema", "/nowhere/b"), "got --json-schema '/nowhere/b', expected a text file that can be read"),
        (("generate", "a", "--regex", "(a"), "got regex with an error: unclosed group"),
        (("generate", "a", "--regex", "a", "--num-beams", "2"), "num_beams=2 and regex cannot be combined"),
        (("train",), "got no training data"),
        (("train", "nowhere.txt", "--out", "/tmp/never"), "nowhere.txt"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(arguments, message, tmp_path):
    result = headway(*(argument.replace("/tmp/never", str(tmp_path / "out")) for argument in arguments))
    assert result.returncode == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_search_prints_its_best_texts_one_a_line_and_python_finds_the_same():
    arguments = ("generate", "The little fox", "-n", "9", "--num-beams", "3", "--num-best", "2", "--early-stopping", "true")
    result = headway(*arguments, "--length-penalty", "0.5", "--no-repeat-ngram-size", "2")
    options = {"num_beams": 3, "num_best": 2, "early_stopping": True, "length_penalty": 0.5, "no_repeat_ngram_size": 2}
    best = package.load("stories").generate("The little fox", max_new_tokens=9, **options)
    assert result.stdout == f"The little fox{best.text}\nThe little fox{best.alternatives[0].text}\n"
    assert re.fullmatch(r"9 tokens \(length limit\), found after [\d.]+ s\n", result.stderr)


def test_a_search_gives_scores_and_alternatives_as_json():
    result = headway("generate", "The little fox", "-n", "7", "--num-beams", "4", "--num-best", "3", "--early-stopping", "never", "--json")
    answer = json.loads(result.stdout)
    best = package.load("stories").generate("The little fox", max_new_tokens=7, num_beams=4, num_best=3, early_stopping="never")
    assert (answer["text"], answer["num_new_tokens"], answer["finish_reason"]) == (best.text, 7, "length")
    assert answer["score"] == pytest.approx(best.score, abs=1e-5)
    assert [other["text"] for other in answer["alternatives"]] == [other.text for other in best.alternatives]
    assert [other["score"] for other in answer["alternatives"]] == pytest.approx([other.score for other in best.alternatives], abs=1e-5)
    assert all((other["finish_reason"], other["num_new_tokens"]) == ("length", 7) for other in answer["alternatives"])


def test_an_encoder_decoder_prints_its_answer_and_not_the_prompt_before_it(tmp_path):
    folder = answering_model(tmp_path)
    result = headway("generate", "--model", str(folder), "The house is small.", "--temperature", "0")
    answer = package.load(folder).generate("The house is small.")
    assert result.returncode == 0, result.stderr
    assert result.stdout == answer.text + "\n"
    assert len(answer.token_ids) == 11  # the folder's own length, less the start token


@pytest.mark.parametrize("subcommand", ["generate", "chat", "models", "train"])
def test_help_begins_with_three_examples_and_names_the_exit_codes(subcommand):
    text = headway(subcommand, "--help").stdout
    assert len(re.findall(rf"^ +(?:echo .*)?headway (?:{subcommand}|generate)", text, re.MULTILINE)) >= 3
    assert re.search("Exit codes: 0 (success|done)", text)


@pytest.mark.slow
def test_models_lists_the_embedded_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (row,) = json.loads(headway_process("models", "--json").stdout)
    assert (row["name"], row["architecture"], row["can_run"]) == ("stories", "gpt2", True)
    assert row["bytes"] < 10e6
    assert "stories" in headway("models").stdout


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.slow
def test_ctrl_c_keeps_what_was_printed_and_exits_130():
    process = subprocess.Popen(
        [*COMMAND, "generate", "Once upon a time", "--array", "jax"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    printed = process.stdout.read(40)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=600)
    assert printed.startswith("Once upon a time")
    assert rest.endswith("\n")
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_reader_that_leaves_early_ends_it_quietly():
    process = subprocess.Popen([*COMMAND, "generate", "Once upon a time"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.read(5)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=600) == 1
    assert "Traceback" not in errors


def test_chat_answers_each_line_and_remembers_the_conversation(tmp_path):
    folder = chat_model(tmp_path)
    result = headway("chat", "--model", str(folder), "-n", "4", "--temperature", "0", stdin="hello\nagain\n\n")
    assert result.returncode == 0, result.stderr
    model = package.load(folder)
    messages = [{"role": "user", "content": "hello"}]
    first = "".join(chunk.text for chunk in model.chat(messages, max_new_tokens=4, temperature=0))
    messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "again"}]
    second = "".join(chunk.text for chunk in model.chat(messages, max_new_tokens=4, temperature=0))
    assert result.stdout == f"{first}\n{second}\n"


def test_a_conversation_that_outgrows_the_context_drops_its_beginning(tmp_path):
    folder = chat_model(tmp_path)
    lines = "\n".join(["tell me a long story about the sea and the sky " * 8] * 8) + "\n"
    result = headway("chat", "--model", str(folder), "-n", "3", "--temperature", "0", stdin=lines)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") >= 8
    assert "dropped the oldest question and answer" in result.stderr


def test_a_prompt_that_is_not_utf8_is_one_sentence():
    result = subprocess.run([*COMMAND, "generate"], input=b"\xff\xfe", capture_output=True, timeout=600)
    assert result.returncode == 2
    assert b"got standard input with byte 0xff at character 0, expected UTF-8 text" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_folder_named_stories_does_not_hide_the_embedded_model(tmp_path, monkeypatch):
    (tmp_path / "stories").mkdir()
    monkeypatch.chdir(tmp_path)
    assert headway("generate", "Once", "-n", "3").returncode == 0


def test_the_version_is_that_of_the_package_and_its_metadata():
    assert headway("--version").stdout == f"headway {package.__version__}\n"
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "headway.__version__"}


def test_the_top_level_help_explains_the_exit_codes():
    text = " ".join(headway("--help").stdout.split())
    assert "Exit codes: 0 success, 1 output closed early (broken pipe), 2 invalid input, 130 interrupted." in text
    assert "--install-completion" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_and_candidates(shell):
    assert "_HEADWAY_COMPLETE" in headway_process(_HEADWAY_COMPLETE=f"source_{shell}").stdout
    words = {
        "COMP_WORDS": "headway gen",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "headway gen",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    assert "generate" in headway_process(_HEADWAY_COMPLETE=f"complete_{shell}", **words).stdout


def test_help_shows_the_default_length():
    text = " ".join(headway("generate", "--help").stdout.split())
    assert "-n, --max-new-tokens <int> Generate at most this many tokens. [default: 400; the model's for an encoder–decoder]" in text


def test_the_default_length_is_400():
    assert json.loads(headway("generate", "Once", "--ignore-end", "--seed", "1", "--json").stdout)["num_new_tokens"] == 400


def test_a_prompt_from_a_file(tmp_path):
    (tmp_path / "prompt.txt").write_text("The little fox\n")
    arguments = ("-n", "5", "--temperature", "0")
    expected = headway("generate", "The little fox", *arguments).stdout
    assert headway("generate", "--prompt-file", str(tmp_path / "prompt.txt"), *arguments).stdout == expected
    assert headway("generate", "--prompt-file", "-", *arguments, stdin="The little fox\n").stdout == expected
    (tmp_path / "prompt.txt").write_bytes(b"a\xff")
    result = headway("generate", "--prompt-file", str(tmp_path / "prompt.txt"))
    assert (result.returncode, "byte 0xff at character 1, expected UTF-8 text" in result.stderr) == (2, True)


def test_a_system_message_goes_through_the_chat_template(tmp_path):
    folder = chat_model(tmp_path)
    result = headway("generate", "--model", str(folder), "--system", "Be brief.", "hello", "-n", "4", "--temperature", "0")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    answer = "".join(chunk.text for chunk in package.load(folder).chat(messages, max_new_tokens=4, temperature=0))
    assert result.stdout == answer + "\n"


def test_log_probs_are_in_the_json():
    answer = json.loads(headway("generate", "Once", "-n", "3", "--num-log-probs", "2", "--json").stdout)
    assert [len(answer["log_probs"]), *map(len, answer["top_log_probs"])] == [3, 2, 2, 2]


def test_the_old_name_of_unpacked_weights_still_works():
    result = headway("generate", "Once", "-n", "3", "--weights", "plain")
    assert result.returncode == 0
    assert "--weights plain is deprecated, use --weights none" in result.stderr


@pytest.mark.slow
def test_errors_are_coloured_on_terminals_only(tmp_path):
    assert "\x1b" not in headway("generate", "a", "--top-p", "2", NO_COLOR="").stderr
    for no_color, is_coloured in (("", True), ("1", False)):
        assert ("\x1b[" in on_terminal("generate", "a", "--top-p", "2", NO_COLOR=no_color)[0]) == is_coloured


def on_terminal(*arguments: str, until: str = "", **environment: str) -> tuple[str, int]:
    """Output and exit code on a terminal; with `until`, the command is interrupted once it has printed that."""
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"} | environment,
    )
    os.close(theirs)
    output, is_interrupted = b"", False
    while True:
        try:
            new = os.read(ours, 1024)
        except OSError:  # Linux reports the end of a terminal so
            new = b""
        if not new:
            break
        output += new
        if until and not is_interrupted and output.endswith(until.encode()):
            process.send_signal(signal.SIGINT)
            is_interrupted = True
    os.close(ours)
    return output.decode(), process.wait(timeout=600)


@pytest.mark.slow
def test_ctrl_c_at_the_prompt_of_chat_ends_the_line(tmp_path):
    output, code = on_terminal("chat", "--model", str(chat_model(tmp_path)), "--weights", "none", until="> ")
    assert (output.replace("^C", ""), code) == ("> \r\n", 130)


def test_ctrl_c_while_modules_are_imported_is_quiet():
    program = "import sys, threading, signal, os; sys.argv = ['headway', 'models']; from headway.cli import main; import headway; "
    program += "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *a: os.kill(os.getpid(), signal.SIGINT)})()); main()"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (process.returncode, process.stdout, process.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("redirection", "code", "message"),
    [
        ("<&-", 2, "got an empty prompt"),
        (">&-", 1, "headway: error: standard output is closed"),
        ("2>&-", 2, ""),
        ("<&- >&- 2>&-", 1, ""),
    ],
)
def test_closed_standard_streams(redirection, code, message):
    command = f'exec "{sys.executable}" -m headway generate {redirection}'
    result = subprocess.run(["sh", "-c", command], input="", capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def chat_model(folder: Path) -> Path:
    """The embedded model with a chat template."""
    stories = Path(package.__file__).parent / "assets" / "stories"
    for path in stories.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
    keys = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(keys | {"chat_template": template}))
    return folder


def answering_model(folder: Path) -> Path:
    """A small random T5 that reads and writes bytes, all of them letters."""
    config = t5.Config(vocab_size=258, d_model=12, d_kv=5, d_ff=17, num_layers=2, num_heads=3)
    silent = sorted(set(range(256)) - {byte_tokenizer().encode(letter)[0] for letter in "abcdefghijklmnopqrstuvwxyz"})
    keys = {"decoder_start_token_id": 257, "eos_token_id": 256, "max_length": 12, "suppress_tokens": silent}
    save_checkpoint(folder, t5, config, random_weights(t5, config), generation_config=keys)
    byte_tokenizer().save(folder)
    return folder
