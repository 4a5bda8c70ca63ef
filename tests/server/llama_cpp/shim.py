"""llama-server's flags for the server of Headway, so that llama.cpp's own server tests can run against it.

The tests are in the source distribution of llama-cpp-python on PyPI and are not part of this repository:

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36
    cd llama_cpp_python-0.3.36/vendor/llama.cpp/tools/server/tests
    LLAMA_SERVER_BIN_PATH=…/tests/server/llama_cpp/llama-server python -m pytest unit/test_chat_completion.py

Every model is stories260K, from the folder of test data. Its template is ChatML, llama-server's default, unless a test gives one.
"""

from __future__ import annotations

import argparse
import sys
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import headway
from headway.server import app
from headway.server.run import Address, run
from headway.server.served_model import ServedModel
from headway.server.service import Service
from headway.server.settings import Settings
from tests.conftest import data_directory

CHATML = """{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"""

ALIASES = {
    "/v1/chat/completions": "/chat/completions",
    "/v1/completions": "/completions",
    "/v1/embeddings": "/embeddings",
    "/v1/models": "/models",
    "/v1/responses": "/responses",
    "/health": "/v1/health",
}
"""Paths of llama-server without a version."""


class Limited(ServedModel):
    """A model with a context of --ctx-size divided by --parallel."""

    limit = 0

    @cached_property
    def max_seq_len(self) -> int:
        """Length of the context."""
        return min(self.limit, self.model.config.max_seq_len)

    def encode_chat(self, messages, variables=None):
        """Return the ids of a conversation after the bos token, as llama-server does."""
        return self.model.tokenizer.encode(self.render_chat(messages, variables))


def main() -> None:
    """Serve stories260K under the address and the options of llama-server."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("--host", "--alias", "--api-key", "--chat-template", "--chat-template-file", "--cors-origins"):
        parser.add_argument(flag)
    for flag in ("--port", "--ctx-size", "--parallel", "--n-predict", "--seed"):
        parser.add_argument(flag, type=int)
    parser.add_argument("--temp", type=float)
    given, _ = parser.parse_known_args()
    template = given.chat_template or CHATML
    if template == "chatml":
        template = CHATML
    if given.chat_template_file:
        template = Path(given.chat_template_file).read_text(encoding="utf-8")
    with headway.load(data_directory() / "weights" / "stories260K" / "stories260K.bin") as model:
        model.defaults = {**model.defaults, "temperature": given.temp or 0.0}
        served = Limited(given.alias or "llama", model, template)
        served.limit = (given.ctx_size or 512) // (given.parallel or 1)
        app.ROUTES.extend([row._replace(path=ALIASES[row.path]) for row in app.ROUTES if row.path in ALIASES])
        keys = tuple((given.api_key or "").split(",")) if given.api_key else ()
        origins = tuple(given.cors_origins.split(",")) if given.cors_origins else ()
        run(
            Service([served], Settings(api_keys=keys, accept_any_model=True, drain_seconds=0, cors_origins=origins)),
            Address(given.host, given.port),
        )


if __name__ == "__main__":
    main()
