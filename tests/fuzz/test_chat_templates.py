"""Chat templates that try to use unlimited time or memory: each must end in a TokenizerError within its limits."""

from __future__ import annotations

import re
import time

import pytest

from headway.errors import HeadwayError, TokenizerError
from headway.tokenizers.chat_template import render
from tests.fuzz.mutations import _memory_limit, byte_mutants, num_mutants, report, run
from tests.tokenizers.test_chat_template import CALL, TEMPLATES, USER, WEATHER

VARIABLES = {"messages": [{"role": "user", "content": "Hello"}], "tools": None, "bos_token": "<s>", "eos_token": "</s>"}
MAX_SECONDS = 60  # each takes under a second; one that is not limited takes hours
MAX_BYTES = 100 * 1024 * 1024

# Lists (or tuples) of 60 levels, each of which contains the previous one twice: little memory, but 2**60 numbers to read.
LISTS = "{% set ns=namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a=[ns.a,ns.a] %}{% endfor %}"
LISTS_TWICE = "{% set ns=namespace(a=[1],b=[1]) %}{% for i in range(60) %}{% set ns.a=[ns.a,ns.a] %}{% set ns.b=[ns.b,ns.b] %}{% endfor %}"
TUPLES = "{% set ns=namespace(a=(1,)) %}{% for i in range(60) %}{% set ns.a=(ns.a,ns.a) %}{% endfor %}"

ATTACKS = {
    "range": "{% for i in range(10**9) %}x{% endfor %}",
    "nested": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested3": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "nested else": "{% for i in range(99999) %}{% for j in [] %}{% else %}{% endfor %}{% endfor %}",
    "mul": "{{ 'x' * 10**10 }}",
    "mul2": "{% set x = 10**10 * 'x' %}",
    "mullist": "{% set x = [1] * 10**10 %}",
    "multuple": "{% set x = (1,) * 10**10 %}",
    "powf": "{{ 2.0**100000 }}",
    "intmul": "{% set ns=namespace(a=10**1000) %}{% for i in range(99999) %}{% set ns.a = ns.a*ns.a %}{% endfor %}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "percent2": "{{ '%*d' % (10**9, 1) }}",
    "percent3": "{{ '%.1000000000f' % 1 }}",
    "percent key": "{{ '%((a))1000000000d' % {'(a)': 1} }}",
    "percent len": "{{ '%l1000000000d' % 1 }}{{ '%hl1d' % 1 }}",
    "percent odd": "{{ '%1000000000d' is odd }}",
    "percent div": "{{ '%1000000000d' is divisibleby 3 }}",
    "percent even": "{{ '%1000000000d' is even }}",
    "percent many": "{% set b='x'*100000 %}{{ ('%(a)s'*1000) % {'a': b} }}",
    "percent markup": "{{ ('%1000000000d'|safe) % 1 }}",
    "format filter": "{{ '%1000000000d'|format(1) }}",
    "format": "{{ '{:1000000000}'.format(1) }}",
    "format2": "{{ '{:{}}'.format(1, 10**9) }}",
    "format3": "{{ '{a:>{w}}'.format_map({'a':1,'w':10**9}) }}",
    "format many": "{% set b='x'*100000 %}{{ ('{0}'*10000).format(b) }}",
    "format markup": "{{ ('{:1000000000}'|safe).format(1) }}",
    "format r": LISTS + "{{ '{0!r}'.format(ns.a) }}",
    "ljust": "{{ 'x'.ljust(10**10) }}",
    "rjust": "{{ 'x'.rjust(10**10) }}",
    "center m": "{{ 'x'.center(10**10) }}",
    "zfill": "{{ 'x'.zfill(10**10) }}",
    "center": "{{ 'x'|center(10**10) }}",
    "indent": "{{ 'x\ny'|indent(10**10) }}",
    "indent s": "{{ ('\n'*100000)|indent('x'*100000, true, true) }}",
    "tojson": "{{ messages|tojson(indent=10**9) }}",
    "tojson s": "{{ messages|tojson(indent='x'*1000) }}",
    "tojson sep": "{{ ([1]*10000)|tojson(separators=('x'*100000,'')) }}",
    "batch": "{{ [1]|batch(10**9, 0)|list }}",
    "slice": "{{ [1]|slice(10**9)|list }}",
    "slice2": "{% for x in [1]|slice(10**9) %}{% endfor %}",
    "join": "{{ (['x']*10000)|join('x'*1000000) }}",
    "join m": "{{ ('x'*100000).join(['y']*100000) }}",
    "join str": "{{ ('x'*100000)|join('y'*1000) }}",
    "replace": "{{ ('x'*100000)|replace('x', 'y'*100000) }}",
    "replace m": "{{ ('x'*100000).replace('x','y'*100000) }}",
    "replace e": "{{ ('x'*100000).replace('','y'*100000) }}",
    "wordwrap": "{{ ('x'*100000)|wordwrap(1, true, 'y'*100000) }}",
    "lipsum": "{{ lipsum(n=10**9) }}",
    "cycler": "{{ cycler(1) }}",
    "round": "{{ 1|round(-10**9) }}",
    "round2": "{{ 1.5|round(10**9, 'ceil') }}",
    "round3": "{{ 'x'|round(9, 'ceil') }}",
    "concat": "{% set ns=namespace(a='xx') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
    "plus": "{% set ns=namespace(a='xx') %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}",
    "pluslist": "{% set ns=namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}",
    "laughs print": LISTS + "{{ ns.a }}",
    "laughs eq": LISTS_TWICE + "{{ ns.a == ns.b }}",
    "laughs in": LISTS_TWICE + "{{ ns.a in [ns.b] }}",
    "laughs eqtest": LISTS_TWICE + "{{ ns.a is eq ns.b }}",
    "laughs hash": TUPLES + "{{ {ns.a: 1} }}",
    "laughs hash2": TUPLES + "{{ {}[ns.a] }}",
    "laughs hash3": TUPLES + "{{ {}.get(ns.a) }}",
    "laughs hash4": TUPLES + "{{ dict([(ns.a,1)]) }}",
    "laughs hash5": TUPLES + "{{ [ns.a]|unique|list }}",
    "laughs hash6": TUPLES + "{{ [{}]|map(attribute=ns.a)|list }}",
    "laughs hash7": TUPLES + "{{ {}|attr(ns.a) }}",
    "laughs index": LISTS_TWICE + "{{ [ns.a].index(ns.b) }}",
    "laughs sort": LISTS_TWICE + "{{ [ns.a,ns.b]|sort }}",
    "laughs changed": LISTS_TWICE + "{% for i in [0,1] %}{{ loop.changed(ns.a if i else ns.b) }}{% endfor %}",
    "laughs json": LISTS + "{{ ns.a|tojson }}",
    "laughs string": LISTS + "{{ ns.a|string|length }}",
    "laughs trim": LISTS + "{{ ns.a|trim|length }}",
    "laughs pct": LISTS + "{{ '%s' % ns.a }}",
    "laughs pct2": LISTS + "{{ '%s' % (ns.a,) }}",
    "laughs tilde": LISTS + "{{ '' ~ ns.a }}",
    "laughs views": "{% set ns=namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a={1: ns.a, 2: ns.a}.values() %}{% endfor %}{{ ns.a }}",
    "laughs raise": LISTS + "{{ raise_exception(ns.a) }}",
    "laughs iter": LISTS + "{% for x in ns.a recursive %}{% if x is iterable %}{{ loop(x) }}{% endif %}{% endfor %}",
    "laughs min": LISTS_TWICE + "{{ [ns.a,ns.b]|min }}",
    "laughs group": LISTS_TWICE + "{{ [{'k':ns.a},{'k':ns.b}]|groupby('k') }}",
    "laughs undefined": TUPLES + "{{ messages[0][ns.a].x }}",
    "laughs undefined2": LISTS + "{{ messages[ns.a].x }}",
    "laughs notcall": LISTS + "{{ ns.a() }}",
    "laughs select": LISTS_TWICE + "{{ [ns.a]|select('eq', ns.b)|list }}",
    "laughs filtername": TUPLES + "{{ [1]|map(ns.a)|list }}",
    "laughs testname": TUPLES + "{{ ns.a is filter }}",
    "laughs default": TUPLES + "{{ 5|int(base=ns.a) }}{{ 'x'|round(ns.a) }}",
    "laughs range": TUPLES + "{{ range(ns.a) }}",
    "laughs le": LISTS_TWICE + "{{ ns.a <= ns.b }}",
    "laughs kw": "{% macro m(x) %}{{ x }}{% endmacro %}{% set ns=namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a=[ns.a,ns.a] %}{% endfor %}{{ m(ns.a) }}",
    "macro fork": "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "macro deep": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "block deep": "{% block a %}{{ self.a() }}{% endblock %}",
    "block fork": "{% set ns=namespace(n=0) %}{% block a %}{% for i in range(3) %}{{ self.b() }}{% endfor %}{% endblock %}{% block b %}{% for i in range(99999) %}{{ self.c() }}{% endfor %}{% endblock %}{% block c %}x{% endblock %}",
    "macro default": "{% macro m(a=[" + "1," * 5_000 + "]) %}{% endmacro %}{% for i in range(99999) %}{{ m() }}{% endfor %}",
    "huge out": "{% for i in range(99999) %}" + "x" * 50_000 + "{% endfor %}",
    "huge out2": "{% set b = 'x'*1000000 %}{% for i in range(9999) %}{{ b }}{% endfor %}",
    "huge set": "{% set b = 'x'*1000000 %}{% set c %}{% for i in range(9999) %}{{ b }}{% endfor %}{% endset %}",
    "huge macro": "{% set b = 'x'*1000000 %}{% macro m() %}{% for i in range(9999) %}{{ b }}{% endfor %}{% endmacro %}{{ m() }}",
    "huge call": "{% set b = 'x'*1000000 %}{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{% for i in range(9999) %}{{ b }}{% endfor %}{% endcall %}",
    "huge filterblock": "{% set b = 'x'*1000000 %}{% filter upper %}{% for i in range(9999) %}{{ b }}{% endfor %}{% endfilter %}",
    "map chain": "{{ range(99999)|map('string')|map('center', 100000)|list }}",
    "reject": "{% for i in range(999) %}{{ range(99999)|reject('number')|list }}{% endfor %}",
    "select none": "{% for i in range(999) %}{{ ([0]*99999)|select|list }}{% endfor %}",
    "map attr": "{{ range(99999)|map(attribute='" + "a." * 20_000 + "', default=1)|list }}",
    "sort attr": "{{ range(99999)|sort(attribute='" + "a." * 20_000 + "') }}",
    "sum": "{{ ([[1]*100]*10000)|sum(start=[])|length }}",
    "list str": "{{ ('中'*3000000)|list|length }}",
    "split": "{% set a = ('ab '*1000000).split() %}",
    "to bytes": "{{ (5).to_bytes(10**10) }}",
    "encode": "{{ 'x'.encode('utf-7') }}",
    "translate": "{{ 'x'.translate({120: 'y'*1000}) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**9) }}",
    "rfind": "{{ ('a'*2000000).rfind('b' + 'a'*1000000) }}",
    "strip": "{{ ('a'*2000000).strip('b'*1000000 + 'a') }}",
    "trim": "{{ ('a'*2000000)|trim('b'*1000000 + 'a') }}",
    "in loop": "{% set b='a'*1000000 %}{% for i in range(99999) %}{{ 'b' in b }}{% endfor %}",
    "eq loop": "{% set b='a'*1000000 %}{% set c='a'*1000000 %}{% for i in range(99999) %}{{ c == b }}{% endfor %}",
    "slice loop": "{% set b='a'*1000000 %}{% for i in range(99999) %}{% set c=b[1:] %}{% endfor %}",
    "slicelist loop": "{% set b=[1]*500000 %}{% for i in range(99999) %}{% set c=b[1:] %}{% endfor %}",
    "body": "{% set x=1 %}{% for i in range(99999) %}" + "{{x}}" * 3_000 + "{% endfor %}",
    "body2": "{% for i in range(99999) %}{% set c = [" + "i," * 5_000 + "] %}{% endfor %}",
    "strftime2": "{{ strftime_now('%c'*100000) }}",
    "fold": "{{ 'x'|center(10**10) }}",
    "autoescape": "{% autoescape 'x'|center(10**10) %}{% endautoescape %}",
    "fold concat": "{{ ('x'~'y')|center(10**10) }}",
    "parens": "{{ " + "(" * 40_000 + "1" + ")" * 40_000 + " }}",
    "lists": "{{ " + "[" * 40_000 + "]" * 40_000 + " }}",
    "nots": "{{ " + "not " * 20_000 + "1 }}",
    "attrs": "{{ a" + ".b" * 40_000 + " }}",
    "adds": "{{ 1" + "+1" * 40_000 + " }}",
    "ifs": "{% if 1 %}" * 9_000 + "{% endif %}",
    "fors": "{% for i in [1] %}" * 3_000 + "{% endfor %}" * 3_000,
    "elifs": "{% if 1 %}" + "{% elif 1 %}" * 8_000 + "{% endif %}",
    "filters": "{{ 1" + "|abs" * 20_000 + " }}",
    "conds": "{{ " + "1 if 1 else " * 8_000 + "1 }}",
    "calls": "{{ a" + "()" * 40_000 + " }}",
    "minus": "{{ " + "-" * 90_000 + "1 }}",
    "pows": "{{ 1" + "**1" * 30_000 + " }}",
    "concats": "{{ 1" + "~1" * 45_000 + " }}",
    "long": "x" * 1_000_001,
    "digits": "{{ " + "9" * 50_000 + " }}",
    "sets": "".join(f"{{%set a{index}=1%}}" for index in range(4_000)),
    "macros": "".join(f"{{%macro a{index}()%}}{{%endmacro%}}" for index in range(2_500)),
    "blocks": "".join(f"{{%block a{index}%}}{{%endblock%}}" for index in range(2_500)),
    "outs": "{{a}}" * 20_000,
    "braces": "{" * 100_000,
    "unclosed": "{{ '" + "x" * 99_000,
    "raws": "{% raw %}" * 10_000,
    "int36": "{{ ('z'*1000000)|int(base=36) }}",
    "int2": "{{ ('1'*1000000)|int(base=2) }}",
    "float": "{{ ('9'*1000000)|float }}",
    "urlencode": "{{ ('中'*1000000)|urlencode }}",
    "truncate": "{{ ('x'*1000000)|truncate(5, end='y'*100000) }}",
    "escape": "{{ ('<'*3000000)|escape }}",
    "escape plus": "{{ ('a'|safe) + '\"'*5000000 }}",
    "unpack": "{% for i in range(99999) %}{{ dict(*[[]]) }}{{ range(*[1]) }}{% endfor %}",
    "star": "{% macro m() %}{{ varargs|length }}{% endmacro %}{% for i in range(999) %}{{ m(*range(99999)) }}{% endfor %}",
    "gen in": "{{ 5.5 in range(99999)|map('string')|map('center',10000) }}",
    "while": "{% for i in range(99999) recursive %}{{ loop(range(99999)) }}{% endfor %}",
    "deep list": "{% set ns=namespace(a=[]) %}{% for i in range(99999) %}{% set ns.a=[ns.a] %}{% endfor %}{{ ns.a }}",
    "accumulate": "{% set ns=namespace(a=[]) %}{% for i in range(99999) %}{% set ns.a=ns.a+['x'*100000] %}{% endfor %}",
    "wordcount": "{{ ('a '*5000000)|wordcount }}",
    "title": "{{ ('a '*5000000)|title }}",
    "count method": "{% set b=[1]*500000 %}{% for i in range(99999) %}{{ b.count(1) }}{% endfor %}",
    "copy": "{% set b=[1]*500000 %}{% for i in range(99999) %}{% set c=b.copy() %}{% endfor %}",
    "dict copy": "{% for i in range(99999) %}{% set c=dict(messages[0], **{'a'*1000: 1}) %}{% endfor %}",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_ends_in_an_error_within_its_time_and_100_megabytes(name: str) -> None:
    start = time.process_time()
    with _memory_limit(MAX_BYTES), pytest.raises(TokenizerError) as caught:
        render(ATTACKS[name], VARIABLES)
    assert time.process_time() - start < MAX_SECONDS
    assert "MemoryError" not in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_an_attack_fails_at_the_same_step_each_time() -> None:
    template = "{% set ns=namespace(n=0) %}{% for i in range(99999) %}{% set ns.n=i %}{% if i == LIMIT %}{{ raise_exception('end') }}{% endif %}{% endfor %}"

    def ends(limit: int) -> bool:
        with pytest.raises(TokenizerError) as caught:
            render(template.replace("LIMIT", str(limit)), VARIABLES)
        return "end (TemplateError)" in str(caught.value)

    low, high = 0, 99_999
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ends(middle) else (low, middle)
    assert low > 5_000
    assert all(ends(low) for _ in range(3))
    assert not any(ends(high) for _ in range(3))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_conversation_of_2_000_messages_renders(template: str) -> None:
    answer = {"role": "assistant", "content": "word " * 200}
    messages = [{"role": "user", "content": "word " * 200}, answer] * 1_000
    text = render(TEMPLATES[template], {**VARIABLES, "messages": messages, "tools": [WEATHER] * 20, "add_generation_prompt": True})
    assert len(text) > 2_000_000


def test_mutated_templates_raise_headway_errors_only() -> None:
    variables = {**VARIABLES, "messages": [USER, CALL, USER], "tools": [WEATHER], "add_generation_prompt": True}
    samples = [template.encode() for template in TEMPLATES.values()]

    def attempt(mutant: bytes) -> None:
        render(mutant.decode(errors="replace"), variables)

    failures = run(attempt, byte_mutants(samples, num_mutants(300)), seconds_each=120, memory_bytes=MAX_BYTES)
    assert not failures, report(failures)


def test_a_value_may_be_as_deep_as_json_is() -> None:
    deep: object = "x"
    for _ in range(150):
        deep = [deep]
    assert render("{{ messages|tojson }}", {"messages": deep}).count("[") == 150


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 'a' * 3 + 'b' ~ 1 }}", "aaab1"),
        ("{{ '%5.1f|%-4s|%(a)s' % {'a': 1} if false else '%5.1f|%-4s|' % (2.25, 'x') }}", "  2.2|x   |"),
        ("{{ '{:>4}{a!r}'.format(1, a='b') }}", "   1'b'"),
        ("{{ [3, 1, 2]|sort|join(', ') }}", "1, 2, 3"),
        ("{{ [1, 2, 3, 4]|batch(3, 0)|list }}", "[[1, 2, 3], [4, 0, 0]]"),
        ("{{ messages|map(attribute='role')|list }}", "['user']"),
        ("{{ messages|selectattr('role', 'eq', 'user')|map(attribute='content')|first }}", "Hello"),
        ("{{ messages|rejectattr('role', 'eq', 'user')|list|length }}", "0"),
        ("{% for x in range(5) if x is odd %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "1,3"),
        ("{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}{% endif %}{% endfor %}", "123"),
        ("{{ 'a,b'.split(',')[::-1] }}", "['b', 'a']"),
        ("{{ 'a b'.replace(' ', '-').upper().strip('A') }}", "-B"),
        ("{{ {'a': 1}.items()|list }}{{ {'b': 2}|items|list }}", "[('a', 1)][('b', 2)]"),
        ("{{ 'el' in 'Hello' and 2 not in [1] and 'a' in {'a': 1} }}", "True"),
        ("{{ undefined_name is defined }}{{ undefined_name|default('d') }}{{ undefined_name }}", "Falsed"),
        ("{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call m(1) %}c{% endcall %}", "12c"),
        ("{% set x %}a{{ 1 }}{% endset %}{{ x|length }}", "2"),
        ("{% filter upper %}a{{ 'b' }}{% endfilter %}", "AB"),
        ("{% set ns = namespace(i=0) %}{% for x in 'abc' %}{% set ns.i = ns.i + 1 %}{% endfor %}{{ ns.i }}", "3"),
        ("{{ {'b': [1, 'é']}|tojson }}{{ {'a': 1}|tojson(indent=2) }}", '{"b": [1, "é"]}{\n  "a": 1\n}'),
        ("{{ 7 // 2 }}{{ 7 % 4 }}{{ 2 ** 10 }}{{ 1.25|round(1) }}{{ '12'|int + 1 }}", "3310241.213"),
        ("{{ [1, 2]|sum }}{{ [[1], [2]]|sum(start=[]) }}{{ ['b', 'a', 'b']|unique|list }}", "3[1, 2]['b', 'a']"),
        ("{{ 'x'.ljust(3) }}|{{ 'x'|center(3) }}|{{ 'a\nb'|indent(2) }}", "x  | x |a\n  b"),
    ],
)
def test_what_templates_normally_use_still_works(template: str, expected: str) -> None:
    assert render(template, VARIABLES) == expected


def test_names_that_only_code_may_use_are_refused() -> None:
    for template in ("{{ 1|spend_steps }}", "{{ environment }}{{ environment.spend(0) }}", "{{ (1).to_bytes(4) }}", "{{ 'a'.encode() }}"):
        with pytest.raises(HeadwayError, match=re.compile("No filter|undefined|unsafe")):
            render(template, VARIABLES)
