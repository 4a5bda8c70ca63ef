import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812


class Right_llama(nn.Module):  # noqa: N801
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Right_hf_qwen(nn.Module):  # noqa: N801
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Wrong_activation_on_up(nn.Module):  # noqa: N801
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(self.gate_proj(x) * F.silu(self.up_proj(x)))


class Wrong_up_not_used(nn.Module):  # noqa: N801
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)))


def right_functional(x, w1, w2, w3):
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2)


def wrong_sigmoid_for_silu(x, w_gate, w_up, w_down):
    return (torch.sigmoid(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T


class Right_in_order(nn.Module):  # noqa: N801
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_model, d_ff, bias=False)
        self.w3 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w3(F.silu(self.w1(x)) * self.w2(x))


class Right_own_width(nn.Module):  # noqa: N801
    def __init__(self, d_model):
        super().__init__()
        hidden = int(8 * d_model / 3)
        self.w1, self.w3 = nn.Linear(d_model, hidden, bias=False), nn.Linear(d_model, hidden, bias=False)
        self.w2 = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Right_gate_and_numbers(nn.Module):  # noqa: N801
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w_gate = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w_gate(x)) * self.w1(x))


class Right_unused_block_size(nn.Module):  # noqa: N801
    def __init__(self, block_size=512, embeddings_dims=768):
        super().__init__()
        hidden_dims = int(2 * (4 * embeddings_dims) / 3)
        self.linear_layer1 = nn.Linear(embeddings_dims, hidden_dims, bias=False)
        self.linear_layer2 = nn.Linear(embeddings_dims, hidden_dims, bias=False)
        self.linear_layer3 = nn.Linear(hidden_dims, embeddings_dims, bias=False)

    def forward(self, x):
        return self.linear_layer3(torch.nn.functional.silu(self.linear_layer1(x)) * self.linear_layer2(x))


class Right_of_layers(nn.Module):  # noqa: N801
    def __init__(self, gate_proj: nn.Module, up_proj: nn.Module, down_proj: nn.Module, activation: nn.Module = nn.SiLU()):
        super().__init__()
        self.gate_proj = gate_proj  # to the inner width
        self.up_proj = up_proj
        self.activation = activation
        self.down_proj = down_proj

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def make_layers(dim, hidden_dim):
    gate, up, down = nn.Linear(dim, hidden_dim, bias=False), nn.Linear(dim, hidden_dim, bias=False), nn.Linear(hidden_dim, dim, bias=False)
    return Right_of_layers(gate, up, down)


class Right_linear_gate(nn.Module):  # noqa: N801
    def __init__(self, d_model, hidden_dim):
        super().__init__()
        self.W1, self.Wgate = nn.Linear(d_model, hidden_dim, bias=False), nn.Linear(d_model, hidden_dim, bias=False)
        self.W2 = nn.Linear(hidden_dim, d_model, bias=False)

    def forward(self, x):
        return self.W2(F.silu(self.W1(x)) * self.Wgate(x))


class _GeGlu(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.proj = nn.Linear(dim_in, 2 * dim_out)

    def forward(self, x):
        x, gate = self.proj(x).chunk(2, dim=-1)
        return x * F.gelu(gate)


class right_gated_gelu_of_a_computed_width(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(_GeGlu(cfg["emb_dim"], 4 * cfg["emb_dim"]), nn.Linear(4 * cfg["emb_dim"], cfg["emb_dim"]))

    def forward(self, x):
        return self.net(x)


class Right_gate_and_value_in_one_projection_with_three_widths(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.w12 = nn.Linear(input_dim, 2 * hidden_dim, bias=False)
        self.w3 = nn.Linear(hidden_dim, output_dim, bias=False)

    def forward(self, x):
        gate, value = self.w12(x).chunk(2, dim=-1)
        return self.w3(nn.functional.silu(gate) * value)
