"""The Python code that Jinja generates for chat templates: each block and each operation spends steps of the budget.

The code calls the methods of jinja_environment.BudgetedEnvironment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame

from headway.tokenizers import jinja_budget as budget

SPENDING = "spend steps"
"""Name of a filter that templates cannot write."""


def block_cost(body: Iterable[nodes.Node]) -> int:
    """Return one more than the number of nodes in a block, without those of nested blocks, and one for each 64 characters of its text."""
    cost = 1
    pending = list(body)
    while pending:
        node = pending.pop()
        cost += 1
        if isinstance(node, nodes.TemplateData):
            cost += len(node.data) // budget.CHARACTERS_PER_STEP
        pending += node.iter_child_nodes(exclude=("body", "else_"))
    return cost


class BudgetedCodeGenerator(CodeGenerator):
    """Generate code that spends steps for each block, and for what the sandbox does not intercept: comparisons, `~`, slices."""

    default_cost = 0

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        """Add the cost to the conditions of loops, then generate the template."""
        for loop in node.find_all(nodes.For):
            if loop.test is not None:
                cost = nodes.Const(block_cost([loop.test]), lineno=loop.lineno)
                loop.test = nodes.Filter(loop.test, SPENDING, [cost], [], None, None, lineno=loop.lineno)
        super().visit_Template(node, frame)

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        """Generate a block. `nodes` is Jinja's name of the parameter."""
        body = list(nodes)
        self.writeline(f"environment.spend({block_cost(body) + self.default_cost})")
        self.default_cost = 0
        super().blockvisit(body, frame)

    def macro_body(self, node: nodes.Macro | nodes.CallBlock, frame: Frame) -> Any:
        """Generate a macro. Its default arguments are evaluated in each call and count as part of its body."""
        self.default_cost = block_cost(node.defaults)
        return super().macro_body(node, frame)

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        """Generate a comparison whose operands spend steps."""
        self.write("(")
        self._call("operand", node.expr, frame)
        for operand in node.ops:
            self.visit(operand, frame)
        self.write(")")

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:  # noqa: N802
        """Generate the right side of a comparison."""
        operators = {"eq": "==", "ne": "!=", "gt": ">", "gteq": ">=", "lt": "<", "lteq": "<=", "in": "in", "notin": "not in"}
        self.write(f" {operators[node.op]} ")
        self._call("haystack" if node.op in ("in", "notin") else "operand", node.expr, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        """Generate `a ~ b`."""
        self.write("environment.concat((")
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write("))")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """Generate `a[b]`, and `a[b:c]`, which bypasses the sandbox's getitem."""
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self._call("sliced", node.node, frame)
        self.write("[")
        self.visit(node.arg, frame)
        self.write("]")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        """Generate a dict whose keys spend steps."""
        self.write("{")
        for item in node.items:
            self._call("key", item.key, frame)
            self.write(": ")
            self.visit(item.value, frame)
            self.write(", ")
        self.write("}")

    def visit_ScopedEvalContextModifier(self, node: nodes.ScopedEvalContextModifier, frame: Frame) -> None:  # noqa: N802
        """Refuse the tag autoescape: Jinja evaluates its argument at compile time, and chat templates write plain text."""
        self.fail("the tag autoescape is not supported in chat templates", node.lineno)

    def _call(self, method: str, argument: nodes.Expr, frame: Frame) -> None:
        self.write(f"environment.{method}(")
        self.visit(argument, frame)
        self.write(")")
