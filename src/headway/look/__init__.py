"""Views of a computation: each line with the arrays that it made, and a prompt's way through a model.

headway.look(softmax, x)               a function with its arguments
headway.look("softmax")                a definition with small example inputs
headway.look(model, "The cat sat")     a prompt through a model
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from headway.look.model_view import ModelView
    from headway.look.view import View

__all__ = ["look"]


@overload
def look(what: str, *, model: str, ablate: Sequence[str] = ()) -> ModelView: ...  # type: ignore[overload-overlap]  # model= is never a function's
@overload
def look(what: str | Callable[..., Any], *args: Any, **kwargs: Any) -> View: ...
def look(what: str | Callable[..., Any], *args: Any, **kwargs: Any) -> View | ModelView:
    """Record a call, and return a view of each line with the values that it made.

    what          a function, called with the other arguments; or the name of a definition, such as "softmax", called with them or
                  with small example inputs
    model         name or folder of a model; `what` is then a prompt
    ablate        with model: layers such as "3" and heads such as "3.1" to switch off

    The view shows itself in a notebook. `view.save("out.html")` writes one self-contained file, print(view) prints the text.

    Errors   OptionError for an unknown name; the function's own exceptions, if nothing of it was recorded; with model, as
             headway.look.models.view_of_prompt.

    >>> import headway, numpy as np
    >>> view = headway.look("softmax", np.array([1.0, 2.0]))
    >>> [value.name for value in view.panels[0].trace.call.arguments]
    ['x', 'axis']
    """
    if isinstance(what, str) and "model" in kwargs:
        from headway.look.models import view_of_prompt

        return view_of_prompt(prompt=what, **kwargs)
    from headway.look.definitions import definition, view_of_call, view_of_definition

    if isinstance(what, str):
        return view_of_call(definition(what), *args, **kwargs) if args or kwargs else view_of_definition(what)
    return view_of_call(what, *args, **kwargs)


class _CallableModule(ModuleType):
    """The module as the function of the same name, because `headway.look` is both."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return look(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
