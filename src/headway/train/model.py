"""A weight tree as a torch.nn.Module, the form in which optimizers and several processes take it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from headway.arrays import Operations
from headway.kernels import operations
from headway.nn import with_dropout
from headway.train.architectures import ARCHITECTURES
from headway.train.batch import IGNORED, Batch
from headway.train.options import TrainingOptions
from headway.trees import leaves, map_tree, tree_from_leaves


class TrainedModel(torch.nn.Module):
    """The leaves of a weight tree as parameters, each tied tensor once; its forward is the loss of a batch."""

    def __init__(self, weights: Any, config: Any, options: TrainingOptions) -> None:
        """Take over the tree's tensors, which from now on are trained."""
        super().__init__()
        self.config, self.options = config, options
        self.module = ARCHITECTURES[options.architecture].module
        tensors = {id(leaf): leaf for _, leaf in leaves(weights)}
        first_paths = {id(leaf): path for path, leaf in reversed(list(leaves(weights)))}
        # torch splits a parameter's name at its dots.
        self.names = {_name(first_paths[key]): first_paths[key] for key in tensors}
        self.parameters_by_name = torch.nn.ParameterDict({_name(first_paths[key]): tensor for key, tensor in tensors.items()})
        self.tree = tree_from_leaves(type(weights), {path: _name(first_paths[id(leaf)]) for path, leaf in leaves(weights)})
        self.ops = operations("torch")
        rate = options.dropout
        self.training_ops = with_dropout(self.ops, attention=rate, output=rate, embedding=rate) if rate else self.ops

    @property
    def weights(self) -> Any:
        """The weight tree of the parameters as they are now."""
        return map_tree(lambda name: self.parameters_by_name[name], self.tree)

    def by_path(self) -> dict[str, torch.Tensor]:
        """Every trained tensor once, by the first path that leads to it."""
        return {path: self.parameters_by_name[name] for name, path in self.names.items()}

    def forward(self, batch: Batch, ops: Operations | None = None) -> torch.Tensor:
        """The sum of the losses of a batch's targets, in nats; ops are those of training, or of validation, by default."""
        ops = ops or (self.training_ops if self.training else self.ops)
        weights = self.weights
        with self._precision():
            if batch.source_ids is None:
                logits = self.module.forward(batch.token_ids, weights, self.config, ops=ops)
            else:
                logits = self.module.forward(batch.source_ids, batch.token_ids, weights, self.config, lengths=batch.lengths, ops=ops)
        return ops.cross_entropy(logits.float(), batch.targets, ignored=IGNORED) * (batch.targets != IGNORED).sum()

    def _precision(self) -> AbstractContextManager[Any]:
        if self.options.dtype == "float32":
            return nullcontext()
        return torch.autocast(self.options.device.partition(":")[0], torch.bfloat16)


def _name(path: str) -> str:
    return path.replace(".", "/")
