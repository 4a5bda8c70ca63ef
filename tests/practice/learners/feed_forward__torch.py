import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812


class GELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh((2.0 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3))))


class Right_raschka(nn.Module):  # noqa: N801
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(cfg["emb_dim"], 4 * cfg["emb_dim"]),
            GELU(),
            nn.Linear(4 * cfg["emb_dim"], cfg["emb_dim"]),
        )

    def forward(self, x):
        return self.layers(x)


class Right_annotated_transformer(nn.Module):  # noqa: N801
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class Right_nanogpt(nn.Module):  # noqa: N801
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Right_llama_style(nn.Module):  # noqa: N801
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Linear(cfg["emb_dim"], cfg["hidden_dim"], bias=False)
        self.fc2 = nn.Linear(cfg["emb_dim"], cfg["hidden_dim"], bias=False)
        self.fc3 = nn.Linear(cfg["hidden_dim"], cfg["emb_dim"], bias=False)

    def forward(self, x):
        return self.fc3(F.silu(self.fc1(x)) * self.fc2(x))


class Wrong_activation_missing(nn.Module):  # noqa: N801
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.fc2(self.fc1(x))


class Wrong_activation_after_second(nn.Module):  # noqa: N801
    def __init__(self, n_embd):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.Linear(4 * n_embd, n_embd), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class Wrong_not_repeatable__dropout(nn.Module):  # noqa: N801
    def __init__(self, n_embd):
        super().__init__()
        self.up, self.down = nn.Linear(n_embd, 4 * n_embd), nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):
        return F.dropout(self.down(F.relu(self.up(x))), 0.2)


class Wrong_not_repeatable(nn.Module):  # noqa: N801
    def __init__(self, n_embd):
        super().__init__()
        self.n = n_embd

    def forward(self, x):
        return nn.Linear(4 * self.n, self.n)(F.relu(nn.Linear(self.n, 4 * self.n)(x)))


def right_functional(x, w1, b1, w2, b2):
    return F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2)


def wrong_down_bias_missing(x, w1, b1, w2, b2):
    return F.linear(F.gelu(F.linear(x, w1, b1)), w2)


class Right_embedding_and_hidden_sizes(nn.Module):  # noqa: N801
    def __init__(self, embedding_size=512, hidden_size=2048):
        super().__init__()
        self.layer_1 = nn.Linear(embedding_size, hidden_size)
        self.layer_2 = nn.Linear(hidden_size, embedding_size)

    def forward(self, vectors):
        return self.layer_2(F.relu(self.layer_1(vectors)))
