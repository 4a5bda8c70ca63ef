"""The Jinja environment of chat templates: the features that transformers provides, in a sandbox with a step budget.

Jinja compiles a template to Python code. The environment counts the work of that code in jinja_budget:

- jinja_code adds to each block (a loop's body, a branch, a macro …) a call that spends its number of nodes.
- Operators, calls, filters, tests and output go through methods that spend steps in proportion to the size of their values, before they
  allocate anything.
- Nothing is evaluated at compile time, where no budget applies.

Source   transformers 5, utils/chat_template_utils.py (_compile_jinja_template), whose templates must render the same here
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, update_wrapper
from types import BuiltinMethodType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.runtime import Context, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace, pass_context
from markupsafe import EscapeFormatter, Markup

from headway.tokenizers import jinja_budget as budget
from headway.tokenizers.jinja_budget import CONTAINERS, BudgetError, check_int, spend, spend_characters, spend_deep, spend_shallow
from headway.tokenizers.jinja_code import SPENDING, BudgetedCodeGenerator
from headway.tokenizers.jinja_filters import bounded_filters, bounded_tests, haystack

MAX_TEMPLATE_CHARACTERS = 100_000
MAX_TOKENS = 16_000
"""Most tokens of Jinja's lexer. Templates of 10,000 characters, which are long for chat templates, have about 2,000."""

STR_METHODS = frozenset(
    "capitalize casefold center count endswith find format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier "
    "islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind "
    "rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill".split()
)
METHODS: dict[type, frozenset[str]] = {
    str: STR_METHODS,
    dict: frozenset({"copy", "get", "items", "keys", "values"}),
    list: frozenset({"copy", "count", "index"}),
    tuple: frozenset({"count", "index"}),
    range: frozenset({"start", "step", "stop"}),
    int: frozenset(),
    float: frozenset({"is_integer"}),
}
"""The attributes of Python's types that templates may use. Others, such as int.to_bytes, can allocate any amount of memory."""
QUADRATIC = {"lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip"}
"""String methods that may compare each character with each character of their argument."""
PADDING = {"center", "ljust", "rjust", "zfill"}


def render_template(template: str, variables: Mapping[str, object]) -> str:
    """Render a chat template with a step budget.

    Errors   BudgetError if the budget is exceeded, and whatever else the template raises.
    """
    token = budget.start(dict(variables))
    try:
        return "".join(compile_template(template).generate(variables))
    finally:
        budget.stop(token)


@lru_cache(maxsize=8)
def compile_template(template: str) -> jinja2.Template:
    """Compile a chat template.

    Errors   BudgetError for a template that is too long, TemplateSyntaxError for an invalid one.
    """
    if len(template) > MAX_TEMPLATE_CHARACTERS:
        raise BudgetError(f"got a template of {len(template):,} characters, expected at most {MAX_TEMPLATE_CHARACTERS:,}")
    return BudgetedEnvironment().from_string(template)


class BoundedFormatter(SandboxedFormatter):
    """str.format in the sandbox, with a limit on widths and on the length of the result."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        """Format a value."""
        for number in re.findall(r"\d+", format_spec):
            if len(number) > 3 or int(number) > budget.MAX_PATTERN:
                raise BudgetError(f"got the width {number:.20} in a format, expected a number up to {budget.MAX_PATTERN}")
        spend_deep(value, 8)
        return super().format_field(value, format_spec)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Apply !r, !s or !a."""
        spend_deep(value, 8)
        return super().convert_field(value, conversion)


class BoundedEscapeFormatter(BoundedFormatter, EscapeFormatter):
    """The same for Markup, which escapes what it inserts."""


class BudgetedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which each operation spends steps of the budget."""

    code_generator_class = BudgetedCodeGenerator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[TokenLimit, GenerationBlock, loopcontrols],
            # With a context, Jinja evaluates no output at compile time.
            finalize=pass_context(lambda context, value: output(value)),
            # The optimizer evaluates constants at compile time.
            optimized=False,
        )
        self.filters.clear()
        self.filters.update({**bounded_filters(), SPENDING: _spend_and_return})
        self.tests.clear()
        self.tests.update(bounded_tests())
        self.globals = {
            "range": self.globals["range"],
            # dict itself would give access to dict.update, which changes what the sandbox protects from changes.
            "dict": _make_dict,
            "namespace": PublicNamespace,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }
        self.spend = spend

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return True for the attributes in METHODS, and for all public attributes of other types."""
        if not super().is_safe_attribute(obj, attr, value):
            return False
        return all(attr in names for plain_type, names in METHODS.items() if isinstance(obj, plain_type)) and not isinstance(obj, bytes)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return a bounded version of str.format and str.format_map, and None for anything else."""
        if not isinstance(value, (MethodType, BuiltinMethodType)) or value.__name__ not in ("format", "format_map"):
            return None
        text = value.__self__
        if not isinstance(text, str):
            return None
        formatter = BoundedEscapeFormatter(self, escape=text.escape) if isinstance(text, Markup) else BoundedFormatter(self)

        def format_text(*args: Any, **kwargs: Any) -> str:
            spend_characters(len(text))
            if value.__name__ == "format_map":
                (kwargs,), args = args, ()
            return type(text)(formatter.vformat(text, args, kwargs))

        return update_wrapper(format_text, value)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return obj[argument]. The hash of a tuple and the error for a wrong index read all that the argument contains."""
        if isinstance(argument, CONTAINERS):
            spend_deep(argument, 8)
        return super().getitem(obj, argument)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right` after spending its steps."""
        if operator == "+":
            spend_shallow(left)
            spend_shallow(right)
        elif operator == "*":
            _check_product(left, right)
            _check_product(right, left)
        elif operator == "**":
            if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > budget.MAX_BITS:
                raise BudgetError("the template computes too large a power")
        elif operator == "%" and isinstance(left, str):
            budget.spend_percent_format(left, right)
        else:
            spend_deep(left)
            spend_deep(right)
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, str):
            spend_characters(len(result))
        return check_int(result)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call an object from a template after spending the steps of the call."""
        spend(1 + len(args) + len(kwargs))
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str):
            args = _check_str_method(owner, __obj.__name__, args)
        elif isinstance(owner, CONTAINERS):
            spend_deep(args, 8)
            # index and count compare each element; the others copy.
            (spend_deep if __obj.__name__ in ("index", "count") else spend_shallow)(owner)
        elif not isinstance(__obj, (jinja2.runtime.Macro, jinja2.runtime.BlockReference, jinja2.runtime.LoopContext)):
            spend_deep(args)
            spend_deep(kwargs)
        result = super().call(__context, __obj, *args, **kwargs)
        if isinstance(result, str):
            spend_characters(len(result))
        return result

    def operand(self, value: Any) -> Any:
        """Return an operand of a comparison, and spend the steps of reading it."""
        if isinstance(value, (str, *CONTAINERS)):
            spend_deep(value)
        return value

    def haystack(self, value: Any) -> Any:
        """Return the right operand of `in`, and spend the steps of searching it."""
        return haystack(value)

    def sliced(self, value: Any) -> Any:
        """Return a value that will be sliced, and spend the steps of copying it."""
        spend_shallow(value)
        return value

    def key(self, value: Any) -> Any:
        """Return a key of a dict, and spend the steps of hashing it."""
        if isinstance(value, tuple):
            spend_deep(value)
        return value

    def concat(self, values: Sequence[Any]) -> str:  # type: ignore[override]
        """Return the concatenation of values as text, and spend the steps of the conversion."""
        for value in values:
            output(value)
        return str_join(values)


class TokenLimit(Extension):
    """Raise BudgetError for a template with too many tokens, before it is parsed."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Yield the tokens."""
        for index, token in enumerate(stream):
            if index > MAX_TOKENS:
                raise BudgetError(f"got a template of more than {MAX_TOKENS:,} tokens")
            yield token


class GenerationBlock(Extension):
    """{% generation %} … {% endgeneration %} marks the model's text for training. Only its content is rendered."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse the block into a scope, as transformers does."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)


class PublicNamespace(Namespace):
    """Jinja's namespace without names that begin with "_", which would give a template access to Python itself."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, *rest = args
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        # Namespaces may refer to each other, so a complete text could be exponentially long.
        return "<Namespace>"


@pass_context
def _spend_and_return(context: Context, value: object, steps: int) -> object:
    spend(steps)
    return value


def output(value: object) -> object:
    """Return a value that will be converted to text, and spend the steps of the conversion."""
    if isinstance(value, str):
        spend_characters(len(value))
    elif isinstance(value, CONTAINERS):
        spend_deep(value, 8)
    return value


def _check_product(sequence: object, count: object) -> None:
    if isinstance(count, int):
        if isinstance(sequence, str):
            spend_characters(len(sequence) * max(0, count))
        elif isinstance(sequence, (list, tuple)):
            spend(len(sequence) * max(0, count) // budget.ELEMENTS_PER_STEP)
        elif isinstance(sequence, int) and sequence.bit_length() + count.bit_length() > budget.MAX_BITS:
            raise BudgetError("the template computes too large a product")


def _check_str_method(text: str, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Spend the steps of a string method, and return its arguments (for join as a list)."""
    if name == "join" and len(args) == 1:
        items = list(budget.counted(args[0]))
        spend_characters(sum(len(item) + len(text) for item in items if isinstance(item, str)))
        return (items,)
    if name in PADDING and args and isinstance(args[0], int):
        spend_characters(max(0, args[0]))
    elif name == "replace" and len(args) >= 2 and isinstance(args[0], str) and isinstance(args[1], str):
        budget.spend_replace(text, args[0], args[1])
    else:
        spend(1 + len(text) // 8)
        budget.spend_search(text, *args, is_linear=name not in QUADRATIC)
    return args


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot have the name {name!r:.60}")


def _make_dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    return dict(*args, **kwargs)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    # Widths such as %1000000d make strftime return long texts.
    if len(pattern) > budget.MAX_PATTERN:
        raise BudgetError(f"got a date pattern of {len(pattern)} characters, expected at most {budget.MAX_PATTERN}")
    return datetime.now().strftime(pattern)
