"""What all modules share: parameters that are the leaves of a weight tree, and the operations that run on them."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import numpy
import torch

from headway.arrays import is_torch, to_numpy
from headway.errors import OptionError, ShapeError
from headway.functions import LinearWeights, NormWeights
from headway.kernels import operations
from headway.nn.dropout import DropoutRates, attention_with_dropout, with_dropout
from headway.trees import leaves

OPERATIONS = SimpleNamespace(**vars(operations("torch")) | {"scaled_dot_product_attention": attention_with_dropout})
"""One attention for training and for answering, so that both take the same masks."""


class Module(torch.nn.Module):
    """A torch module that holds parameters and calls a definition with them.

    The names of its parameters, and so the keys of its state_dict, are the paths of its weight tree.
    A layer calls the definition of the layer, not the modules of its parts: these hold parameters, and forward hooks on them are
    not run. The stacks call their layers.

    dropout   one rate for all places, or DropoutRates; they act while training only
    """

    def __init__(self, dropout: float | DropoutRates = 0.0) -> None:
        super().__init__()
        self.dropout = DropoutRates.of(dropout)
        self._training_ops = with_dropout(OPERATIONS, attention=self.dropout.attention, output=self.dropout.output)

    @property
    def ops(self) -> SimpleNamespace:
        """The operations that a forward calls: with dropout while training, without it after eval()."""
        return self._training_ops if self.training else OPERATIONS

    def weights(self) -> Any:
        """The parameters themselves, as the weight tree that the definition takes."""
        raise NotImplementedError

    def load_weights(self, weights: Any) -> None:
        """Copy the leaves of a weight tree, of any array library, into the parameters of the same names.

        Errors   ShapeError where a leaf is missing, unknown, or of another shape; OptionError where two leaves differ that are
                 one parameter here. Then nothing was copied.
        """
        parameters = dict(self.named_parameters(remove_duplicate=False))
        arrays = {path: _as_tensor(leaf) for path, leaf in leaves(weights)}
        if parameters.keys() != arrays.keys():
            differences = (("without", parameters.keys() - arrays.keys()), ("with", arrays.keys() - parameters.keys()))
            came = " and ".join(f"{word} {_some(paths)}" for word, paths in differences if paths)
            raise ShapeError(
                f"came: a tree {came}; expected: the leaves of this {type(self).__name__}, {_some(parameters.keys())}; "
                "make the module with the tree's own layers, heads and biases"
            )
        owners: dict[torch.nn.Parameter, str] = {}
        for path, parameter in parameters.items():
            if arrays[path].shape != parameter.shape:
                raise ShapeError(f"came: {path} {tuple(arrays[path].shape)}; expected: {tuple(parameter.shape)}")
            owner = owners.setdefault(parameter, path)
            if owner != path and not torch.equal(arrays[owner], arrays[path]):
                raise OptionError(
                    f"came: different arrays for {owner} and {path}; expected: the same, because they are tied here; untie them"
                )
        with torch.no_grad():
            for path, parameter in parameters.items():
                parameter.copy_(arrays[path])


def linear_weights(module: torch.nn.Linear) -> LinearWeights:
    """The parameters of one affine map."""
    return LinearWeights(module.weight, module.bias)


def norm_weights(module: torch.nn.LayerNorm) -> NormWeights:
    """The parameters of one layer norm."""
    return NormWeights(module.weight, module.bias)


def _some(paths: Collection[str]) -> str:
    more = len(paths) - 3
    return ", ".join(sorted(paths)[:3]) + (f" and {more} more" if more > 0 else "")


def _as_tensor(leaf: Any) -> torch.Tensor:
    return leaf.detach() if is_torch(leaf) else torch.from_numpy(numpy.array(to_numpy(leaf)))
