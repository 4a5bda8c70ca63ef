"""The description of an encoder: the parts of each layer, as data. An absent part is None."""

from __future__ import annotations

from dataclasses import dataclass

from headway.models.spec import AttentionSpec, FeedForwardSpec, NormSpec


@dataclass(frozen=True)
class EncoderLayerSpec:
    """Attention and feed-forward, each with a norm of its input (pre-norm), a norm of the sum (post-norm), or neither.

    x ← sum_norm(x + attention(norm(x)))
    x ← sum_norm(x + feed_forward(norm(x)))

    The attention is bidirectional: a token attends to the window - 1 positions before it and to as many after it.
    """

    attention: AttentionSpec
    feed_forward: FeedForwardSpec
    attention_norm: NormSpec | None = None
    attention_sum_norm: NormSpec | None = None
    feed_forward_norm: NormSpec | None = None
    feed_forward_sum_norm: NormSpec | None = None


@dataclass(frozen=True)
class HeadSpec:
    """The hidden layer of a head, norm(activation(dense(x))); activation is "tanh" or the name of a function of headway.functions."""

    activation: str
    norm: NormSpec | None = None
    has_bias: bool = True


@dataclass(frozen=True)
class ClassifierSpec:
    """A sequence-classification head: pooling, a hidden layer, and a linear layer with num_labels outputs.

    hidden      None if the hidden layer is the pooler
    takes_mean  True to pool by the mean over the tokens, False by the first token
    """

    num_labels: int
    hidden: HeadSpec | None
    takes_mean: bool = False


@dataclass(frozen=True)
class EncoderSpec:
    """An encoder: embeddings and their norm, layers, a final norm, and the heads that a checkpoint may have.

    num_positions         rows of the learned position embedding; None without one
    first_position        row of the first token's position
    num_token_types       rows of the token-type embedding; None without one
    num_position_buckets  buckets of the relative position bias that all layers share; None without one
    has_norm_bias         False for layer norms without biases
    has_head_bias         False for a masked-token head without a bias of the logits
    """

    vocab_size: int
    hidden_size: int
    layers: tuple[EncoderLayerSpec, ...]
    embedding_norm: NormSpec
    masked_token_head: HeadSpec
    classifier: ClassifierSpec
    norm: NormSpec | None = None
    num_positions: int | None = None
    first_position: int = 0
    num_token_types: int | None = None
    num_position_buckets: int | None = None
    has_norm_bias: bool = True
    has_head_bias: bool = True

    @property
    def num_pair_types(self) -> int:
        """Number of token types that a pair of texts uses: 2, or 1 if the model does not distinguish them."""
        return min(self.num_token_types or 1, 2)
