"""The command as people type it, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from platformdirs import user_cache_path

import headway as package
from headway.checkpoints import save_checkpoint
from headway.models import t5
from headway.tokenizers import byte_tokenizer
from tests.small_models import random_weights

COMMAND = [sys.executable, "-m", "headway"]


def headway(*arguments: str, stdin: str | None = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=120, env=os.environ | {"NO_COLOR": "1"} | environment
    )


def test_generate_prints_the_prompt_and_a_story_and_says_the_pace_on_stderr():
    result = headway("generate", "Once upon a time", "--seed", "1")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Once upon a time")
    assert len(result.stdout.split()) > 60
    assert re.fullmatch(r"\d+ tokens \(.*\): the first after [\d.]+ s, then [\d,]+ tokens/s\n", result.stderr)


def test_the_same_seed_gives_the_same_text_and_python_gives_it_too():
    first, second = (headway("generate", "The little fox", "--seed", "5", "-n", "40", "--no-echo").stdout for _ in range(2))
    completion = package.load("stories").generate("The little fox", max_new_tokens=40, seed=5)
    assert first == second == completion.text + "\n"


@pytest.mark.parametrize("array", ["torch", "jax", "mlx"])
def test_every_array_library_writes_the_same_text(array):
    arguments = ("generate", "One rainy day", "--seed", "3", "-n", "60")
    assert headway(*arguments, "--array", array).stdout == headway(*arguments, "--weights", "plain").stdout


@pytest.mark.parametrize("weights", ["plain", "float32", "bfloat16", "int8", "int4"])
def test_every_kind_of_weights_writes_a_story(weights):
    arguments = ("generate", "Once upon a time", "--temperature", "0", "-n", "25", "--weights", weights)
    result = headway(*arguments, *([] if weights == "plain" else ["--threads", "2"]))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Once upon a time, there was a ")
    if weights != "plain":
        assert headway(*arguments, "--cache", "int8").stdout.startswith("Once upon a time, there was a ")


def test_packed_float32_weights_write_what_the_definitions_write():
    arguments = ("generate", "The little fox", "--seed", "7", "-n", "80")
    assert headway(*arguments, "--weights", "float32").stdout == headway(*arguments, "--weights", "plain").stdout


def test_a_first_run_packs_and_later_ones_do_not(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    (tmp_path / "headway").mkdir()
    compiled = user_cache_path("headway") / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    (tmp_path / "headway" / "compiled").symlink_to(compiled)
    first = headway("generate", "Once", "-n", "5", "--temperature", "0", **environment)
    (packed,) = (tmp_path / "headway" / "packed").iterdir()
    before = packed.stat().st_mtime_ns
    assert headway("generate", "Once", "-n", "5", "--temperature", "0", **environment).stdout == first.stdout
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", ""), "came: an empty prompt"),
        (("generate", "word " * 2000), "expected: at most 511"),
        (("generate", "a", "--temperature", "-1"), "came: temperature=-1.0"),
        (("generate", "a", "--weights", "int8", "--array", "torch"), "came: weights='int8' with array='torch'"),
        (("generate", "a", "--weights", "plain", "--threads", "2"), "came: num_threads=2 for a model without packed weights"),
        (("generate", "a", "--array", "torch", "--cache", "int8"), "came: cache='int8' for a model without packed weights"),
        (("generate", "a", "--threads", "0"), "came: 0 threads; expected: at least 1"),
        (("generate", "a", "--top-p", "1.5"), "came: top_p=1.5"),
        (("generate", "a", "--num-beams", "0"), "came: num_beams=0"),
        (("generate", "a", "--num-beams", "2", "--num-best", "3"), "came: num_best=3; expected: a whole number from 1 to num_beams=2"),
        (("generate", "a", "--num-beams", "2", "--temperature", "0.5"), "came: num_beams=2 with temperature=0.5"),
        (("generate", "a", "--length-penalty", "2"), "came: length_penalty=2.0 without a search"),
        (("generate", "a", "--early-stopping", "soon"), "never"),
        (("generate", "a", "--no-repeat-ngram-size", "-1"), "came: no_repeat_ngram_size=-1"),
        (("generate", "a", "--model", "./nowhere"), "came: ./nowhere; expected: `stories`"),
        (("generate", "a", "--array", "tensorflow"), "numpy"),
        (("generate", "a", "--dtype", "int3"), "got dtype 'int3'"),
        (("generate", "a", "--device", "cuda"), "got device 'cuda' with numpy"),
        (("generate", "a", "--array", "torch", "--device", "xyz"), "got device 'xyz'"),
        (("generate", "a", "--array", "jax", "--dtype", "float64"), "64 bits"),
        (("generate", "a", "--nonsense"), "No such option"),
        (("chat", "--model", "stories", "hello"), "no chat template"),
        (("train",), "neither files nor --stories"),
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
    assert re.fullmatch(r"9 tokens \(as long as allowed\): found after [\d.]+ s\n", result.stderr)


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
    assert "Exit codes: 0 done" in text


def test_models_lists_the_embedded_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (row,) = json.loads(headway("models", "--json").stdout)
    assert (row["name"], row["architecture"], row["can_run"]) == ("stories", "gpt2", True)
    assert row["bytes"] < 10e6
    assert "stories" in headway("models").stdout


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.slow
def test_ctrl_c_keeps_what_was_printed_and_exits_130():
    process = subprocess.Popen(
        [*COMMAND, "generate", "Once upon a time", "--array", "jax"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    printed = process.stdout.read(40)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert printed.startswith("Once upon a time")
    assert rest.endswith("\n")
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_a_reader_that_leaves_early_ends_it_quietly():
    process = subprocess.Popen([*COMMAND, "generate", "Once upon a time"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.read(5)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert "Traceback" not in errors


def test_chat_answers_each_line_and_remembers_the_conversation(tmp_path):
    folder = chat_model(tmp_path)
    result = headway("chat", "--model", str(folder), "-n", "4", "--temperature", "0", stdin="hello\nagain\n\n")
    assert result.returncode == 0, result.stderr
    model = package.load(folder)
    messages = [{"role": "user", "content": "hello"}]
    first = "".join(piece.text for piece in model.chat(messages, max_new_tokens=4, temperature=0))
    messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "again"}]
    second = "".join(piece.text for piece in model.chat(messages, max_new_tokens=4, temperature=0))
    assert result.stdout == f"{first}\n{second}\n"


def test_a_conversation_that_outgrows_the_context_drops_its_beginning(tmp_path):
    folder = chat_model(tmp_path)
    lines = "\n".join(["tell me a long story about the sea and the sky " * 8] * 8) + "\n"
    result = headway("chat", "--model", str(folder), "-n", "3", "--temperature", "0", stdin=lines)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") >= 8
    assert "oldest question and answer are dropped" in result.stderr


def test_a_prompt_that_is_no_utf8_is_one_sentence():
    result = subprocess.run([*COMMAND, "generate"], input=b"\xff\xfe", capture_output=True, timeout=60)
    assert result.returncode == 2
    assert b"half a surrogate pair" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_folder_named_stories_does_not_hide_the_embedded_model(tmp_path, monkeypatch):
    (tmp_path / "stories").mkdir()
    monkeypatch.chdir(tmp_path)
    assert headway("generate", "Once", "-n", "3").returncode == 0


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
