"""Chat templates: equal to transformers, kept in a sandbox, and found in each place where a folder may have them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError

from headway.errors import OptionError, PromptError, TokenizerError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, load_tokenizer

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
    "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
    "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
    "{{ message['content'] + eos_token + ' ' }}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}"
    "{% endif %}{% endfor %}"
)
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""
TOOLS = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- set ns = namespace(found=false, options=dict(a=1)) %}
{{- "Today Date: " + date_string + "\n\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\n\n" + (t | tojson) }}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- set ns.found = true %}
        {%- continue %}
    {%- elif message.tool_calls is defined %}
        {%- generation %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + "}" }}
        {%- endgeneration %}
    {%- else %}
        {{- '<' ~ message.role ~ '>' ~ message.content | trim }}
    {%- endif %}
    {%- if ns.found %}{% break %}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<assistant>' }}{%- endif %}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<no-think>' }}{%- endif %}
"""
GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages -%}
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}"""
TEMPLATES = {"chatml": CHATML, "llama3": LLAMA3, "mistral": MISTRAL, "zephyr": ZEPHYR, "tools": TOOLS, "gemma": GEMMA}

USER = {"role": "user", "content": ' What\'s <b>5</b> & "six"? 中文 '}
ANSWER = {"role": "assistant", "content": "Eleven.\n", "tool_calls": None}
CONVERSATIONS = {"one": [USER], "three": [USER, ANSWER, USER], "system": [{"role": "system", "content": "Be brief."}, USER]}
PARAMETERS = {"z": [1, 2.5, None], "a": True}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "In <city> – né", "parameters": PARAMETERS}}
CALL = {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln"}}}]}


def tokenizer_with(folder: Path, template: Any) -> LibraryTokenizer:
    byte_tokenizer().save(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": template}))
    return load_tokenizer(folder)


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("prompted", [True, False])
def test_renders_as_transformers(tmp_path: Path, template: str, conversation: str, prompted: bool) -> None:
    transformers = pytest.importorskip("transformers")
    messages = CONVERSATIONS[conversation]
    ours = tokenizer_with(tmp_path, TEMPLATES[template])
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    if conversation == "system" and template in ("mistral", "gemma"):
        with pytest.raises(TemplateError) as refused:
            theirs.apply_chat_template(messages, tokenize=False)
        with pytest.raises(TokenizerError, match=re.escape(str(refused.value))):
            ours.apply_chat_template(messages)
        return
    expected = theirs.apply_chat_template(messages, add_generation_prompt=prompted, tokenize=False)
    assert ours.apply_chat_template(messages, add_generation_prompt=prompted) == expected


def test_tools_and_variables_render_as_in_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    messages = [USER, CALL, {"role": "tool", "content": "rain"}, USER]
    ours = tokenizer_with(tmp_path, TOOLS)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for options in ({}, {"enable_thinking": False}, {"date_string": "1 May 2026", "add_generation_prompt": False}):
        options = {"tools": [WEATHER], "add_generation_prompt": True, **options}
        assert ours.apply_chat_template(messages, **options) == theirs.apply_chat_template(messages, tokenize=False, **options)
    assert datetime.now().strftime("%d %b %Y") in ours.apply_chat_template([USER])


def test_qwen2_renders_its_own_template(qwen2: LibraryTokenizer) -> None:
    # The template adds its default system message and always ends with the generation prompt.
    assert qwen2.apply_chat_template([{"role": "user", "content": "Hi"}]) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert qwen2.encode(qwen2.apply_chat_template([{"role": "user", "content": "Hi"}]), add_special_tokens=False)[0] == 151644


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ raise_exception('Only user roles!') }}", "Only user roles! (TemplateError)"),
        ("{% for %}", "TemplateSyntaxError"),
        ("{{ messages[9].content }}", "has no element 9 (UndefinedError)"),
        ("{{ 'a' + 1 }}", 'can only concatenate str (not "int") to str (TypeError)'),
        ("{{ ''.__class__.__mro__ }}", "is unsafe. (SecurityError)"),
        ("{{ messages.__init__.__globals__ }}", "(SecurityError)"),
        ("{{ messages.append(1) }}", "(SecurityError)"),
        ("{{ messages[0].update(role='x') }}", "(SecurityError)"),
        ("{{ dict.update(messages[0], role='x') }}", "(UndefinedError)"),
        ("{% set ns = namespace() %}{% set ns.__call__ = raise_exception %}", "(SecurityError)"),
        ("{{ namespace(_x=1) }}", "(SecurityError)"),
        ("{{ raise_exception.__globals__['json'] }}", "(SecurityError)"),
        ("{% include '/etc/passwd' %}", "no loader for this environment specified (TypeError)"),
        ("{{ range(10000000) }}", "(OverflowError)"),
    ],
)
def test_a_template_that_fails_or_reaches_out_is_an_error_in_its_own_words(tmp_path: Path, template: str, words: str) -> None:
    message = dict(USER)
    with pytest.raises(TokenizerError) as caught:
        tokenizer_with(tmp_path, template).apply_chat_template([message])
    assert words in str(caught.value)
    assert "use generate" in str(caught.value.hint)
    assert message == USER


def test_no_template(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer()
    assert not tokenizer.has_chat_template
    with pytest.raises(TokenizerError, match="a model without a chat template, expected plain text"):
        tokenizer.apply_chat_template([USER])


def test_no_messages(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="got no messages"):
        tokenizer_with(tmp_path, CHATML).apply_chat_template([])


def test_a_value_that_json_does_not_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="got tools with a function, expected text, numbers"):
        tokenizer_with(tmp_path, TOOLS).apply_chat_template([USER], tools=[print_weather])


def print_weather() -> None:
    """A function, where a JSON schema is expected."""


def test_tools_choose_the_template_named_tool_use(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    tokenizer = tokenizer_with(tmp_path, named)
    assert tokenizer.apply_chat_template([USER]) == "plain"
    assert tokenizer.apply_chat_template([USER], tools=[WEATHER]) == "tools"
    assert tokenizer_with(tmp_path, named[:1]).apply_chat_template([USER], tools=[WEATHER]) == "plain"


def test_names_without_default_are_named_in_the_error(tmp_path: Path) -> None:
    tokenizer = tokenizer_with(tmp_path, [{"name": "rag", "template": "a"}])
    with pytest.raises(TokenizerError, match="got chat templates rag, expected one named default"):
        tokenizer.apply_chat_template([USER])


def test_files_of_their_own_come_first(tmp_path: Path) -> None:
    byte_tokenizer().save(tmp_path)
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "from its json"}))
    assert load_tokenizer(tmp_path).apply_chat_template([USER]) == "from its json"
    assert tokenizer_with(tmp_path, "from the config").apply_chat_template([USER]) == "from the config"
    (tmp_path / "chat_template.jinja").write_text("from its file")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("for tools")
    assert load_tokenizer(tmp_path).chat_templates == {"default": "from its file", "tool_use": "for tools"}


@pytest.mark.parametrize("template", [5, ["a"], [{"name": "default"}], {"default": 1}])
def test_a_template_of_another_kind_is_an_error(tmp_path: Path, template: Any) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer_config\.json with chat_template .*, expected a Jinja template"):
        tokenizer_with(tmp_path, template)


def test_jinja_is_imported_only_to_render() -> None:
    code = "import sys, headway.tokenizers; sys.exit('jinja2' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
