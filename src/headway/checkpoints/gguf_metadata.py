"""The metadata of a GGUF file's architecture, and the shapes of its tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.errors import CheckpointError, UnsupportedError
from headway.gguf_file import GGUFFile
from headway.json_files import short_repr

MAY_HAVE_ONE_ROW = ("token_types.weight", "cls.output.weight")
"""Matrices that llama.cpp's quantizer writes as a vector if they have one row."""


@dataclass(frozen=True)
class Metadata:
    """The metadata of a file, and the presence of tensors; keys are without the architecture's name in front."""

    file: GGUFFile
    architecture: str

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value; of a list with one value for each layer, the value that all have.

        Errors   UnsupportedError for layers with different values.
        """
        name = f"{self.architecture}.{key}"
        value = self.file.metadata.get(name, default)
        if isinstance(value, list) and not isinstance(default, list):
            if any(each != value[0] for each in value[1:]) or not value:
                raise UnsupportedError(f"got {self.file.path} with {name}={short_repr(value)}, expected the same value for all layers")
            return value[0]
        return value

    def integer(self, key: str, default: int | None = None) -> int:
        """Return a value that has to be an integer of at least 1; None as the default for a required key.

        Errors   CheckpointError for a key that is missing or has another value.
        """
        value = self.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise CheckpointError(
                f"got {self.file.path} with {self.architecture}.{key}={short_repr(value)}, expected an integer of at least 1",
                hint="download the file again",
            )
        return value

    def num_layers(self, key: str = "block_count", default: int | None = None) -> int:
        """Return the number of layers, each of which has tensors in the file."""
        return self._at_most(key, len(self.file.tensors), default)

    def num_experts(self) -> int:
        """Return the number of experts of a layer, each of which has a matrix in the file."""
        stacked = [info.shape[0] for name, info in self.file.tensors.items() if name.endswith("_exps.weight")]
        return self._at_most("expert_count", max(stacked, default=len(self.file.tensors)))

    def _at_most(self, key: str, most: int, default: int | None = None) -> int:
        count = self.integer(key, default)
        if count > most:
            raise CheckpointError(
                f"got {self.file.path} with {self.architecture}.{key}={count:,}, expected at most {most:,}, as many as the tensors are for",
                hint="download the file again",
            )
        return count

    def has(self, tensor: str) -> bool:
        """Return True if the file has a tensor."""
        return tensor in self.file.tensors

    def num_rows(self, tensor: str) -> int:
        """Return the number of rows of a matrix, which has to be in the file.

        Errors   CheckpointError for a file without it.
        """
        if tensor not in self.file.tensors:
            raise CheckpointError(f"got {self.file.path} without the tensor {tensor}, expected a language model")
        return shape_of(self.file, tensor)[0]

    def factors(self, tensor: str) -> list[float]:
        """Return a tensor of factors of the rotary frequencies."""
        if self.file.tensors[tensor].format.name != "F32":
            raise CheckpointError(f"got {self.file.path} with {tensor} in {self.file.tensors[tensor].format.name}, expected F32")
        values: list[float] = self.file.data(tensor).view("<f4").tolist()
        return values


def shape_of(file: GGUFFile, tensor: str) -> tuple[int, ...]:
    """Return the shape of a tensor, that of a matrix also for one whose single row the file has as a vector."""
    shape = file.tensors[tensor].shape
    return (1, *shape) if tensor in MAY_HAVE_ONE_ROW and len(shape) == 1 else shape
