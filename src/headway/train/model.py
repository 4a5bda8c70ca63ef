"""A weight tree as a torch.nn.Module, for optimizers and distributed training."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from headway.arrays import Operations
from headway.kernels import operations
from headway.nn import with_dropout
from headway.train.architectures import Architecture, Config, Weights
from headway.train.batch import IGNORED, Batch
from headway.train.options import TrainingOptions
from headway.trees import leaves, map_tree, tree_from_leaves


class TrainedModel(torch.nn.Module):
    """A module whose parameters are the leaves of a weight tree, tied leaves once, and whose forward returns the loss of a batch."""

    def __init__(self, weights: Weights, config: Config, options: TrainingOptions) -> None:
        """Make parameters of the tensors of a weight tree; training modifies these tensors."""
        super().__init__()
        self.config, self.options = config, options
        self.module = Architecture(options.architecture).module
        tensors = {id(leaf): leaf for _, leaf in leaves(weights)}
        first_paths = {id(leaf): path for path, leaf in reversed(list(leaves(weights)))}
        # A parameter name must not contain dots, so paths are stored with slashes.
        self.names = {_name(first_paths[key]): first_paths[key] for key in tensors}
        self.parameters_by_name = torch.nn.ParameterDict({_name(first_paths[key]): tensor for key, tensor in tensors.items()})
        self.tree = tree_from_leaves(type(weights), {path: _name(first_paths[id(leaf)]) for path, leaf in leaves(weights)})
        self.ops = operations("torch")
        rate = options.dropout
        self.training_ops = with_dropout(self.ops, attention=rate, output=rate, embedding=rate) if rate else self.ops

    @property
    def weights(self) -> Weights:
        """The weight tree of the current parameters."""
        return map_tree(lambda name: self.parameters_by_name[name], self.tree)

    def by_path(self) -> dict[str, torch.Tensor]:
        """Return the parameters by path; a tied tensor is listed once, by its first path."""
        return {path: self.parameters_by_name[name] for name, path in self.names.items()}

    def forward(self, batch: Batch, ops: Operations | None = None) -> torch.Tensor:
        """Return the sum of the losses of a batch's targets, in nats; by default with dropout in training mode and without in eval mode."""
        ops = ops or (self.training_ops if self.training else self.ops)
        weights = self.weights
        with self._precision():
            if batch.source_ids is None:
                logits = self.module.forward(batch.token_ids, weights, self.config, ops=ops)
            else:
                logits = self.module.forward(batch.source_ids, batch.token_ids, weights, self.config, lengths=batch.lengths, ops=ops)
        return ops.cross_entropy(logits.float(), batch.targets, ignored=IGNORED) * batch.num_targets

    def _precision(self) -> AbstractContextManager[object]:
        if self.options.dtype == "float32":
            return nullcontext()
        return torch.autocast(self.options.device.partition(":")[0], torch.bfloat16)


def _name(path: str) -> str:
    return path.replace(".", "/")
