"""Base class of all modules: parameters that are the leaves of a weight tree, and the operations that run on them."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace

import numpy
import torch

from headway.arrays import Array, to_numpy
from headway.errors import OptionError, ShapeError
from headway.functions import LinearWeights, NormWeights
from headway.kernels import operations
from headway.nn.dropout import DropoutRates, attention_with_dropout, with_dropout
from headway.trees import leaves

OPERATIONS = SimpleNamespace(**vars(operations("torch")) | {"scaled_dot_product_attention": attention_with_dropout})
"""Operations for inference; the attention is that of training without dropout, so that both accept the same masks."""


class Module(torch.nn.Module):
    """A torch.nn.Module that passes its parameters to a function of headway.functions.

    The names of the parameters, and so the keys of the state_dict, are the paths of the weight tree.
    A layer calls the function of the whole layer, not its submodules, so forward hooks on submodules of a layer do not run.
    A stack calls its layers as modules.

    dropout   one rate for all places, or DropoutRates; used in training mode only
    """

    def __init__(self, dropout: float | DropoutRates = 0.0) -> None:
        super().__init__()
        self.dropout = DropoutRates.of(dropout)
        self._training_ops = with_dropout(OPERATIONS, attention=self.dropout.attention, output=self.dropout.output)

    @property
    def ops(self) -> SimpleNamespace:
        """Operations for forward: with dropout in training mode, without it in eval mode."""
        return self._training_ops if self.training else OPERATIONS

    def weights(self) -> object:
        """Return the parameters as the weight tree for the function."""
        raise NotImplementedError

    def load_weights(self, weights: object) -> None:
        """Copy the leaves of a weight tree, of any array library, into the parameters with the same names.

        Errors   ShapeError if a leaf is missing, unknown, or of another shape; OptionError if leaves differ that are tied in this
                 module. The parameters are then unchanged.
        """
        parameters = dict(self.named_parameters(remove_duplicate=False))
        arrays = {path: _as_tensor(leaf) for path, leaf in leaves(weights)}
        if parameters.keys() != arrays.keys():
            differences = (("without", parameters.keys() - arrays.keys()), ("with", arrays.keys() - parameters.keys()))
            difference = " and ".join(f"{word} {_some(paths)}" for word, paths in differences if paths)
            raise ShapeError(
                f"got a tree {difference}, expected the leaves of this {type(self).__name__}, {_some(parameters.keys())}",
                hint="make the module with the number of layers, heads and biases of the tree",
            )
        owners: dict[torch.nn.Parameter, str] = {}
        for path, parameter in parameters.items():
            if arrays[path].shape != parameter.shape:
                raise ShapeError(f"got {path} {tuple(arrays[path].shape)}, expected {tuple(parameter.shape)}")
            owner = owners.setdefault(parameter, path)
            if owner != path and not torch.equal(arrays[owner], arrays[path]):
                raise OptionError(
                    f"got different arrays for {owner} and {path}, expected equal arrays, because they are tied in this module",
                    hint="make the module with is_tied=False",
                )
        with torch.no_grad():
            for path, parameter in parameters.items():
                parameter.copy_(arrays[path])


def linear_weights(module: torch.nn.Linear) -> LinearWeights:
    """Return the parameters of a linear layer."""
    return LinearWeights(module.weight, module.bias)


def norm_weights(module: torch.nn.LayerNorm) -> NormWeights:
    """Return the parameters of a layer norm."""
    return NormWeights(module.weight, module.bias)


def _some(paths: Collection[str]) -> str:
    more = len(paths) - 3
    return ", ".join(sorted(paths)[:3]) + (f" and {more} more" if more > 0 else "")


def _as_tensor(leaf: Array) -> torch.Tensor:
    return leaf.detach() if isinstance(leaf, torch.Tensor) else torch.from_numpy(numpy.array(to_numpy(leaf)))
