import math

import torch
import torch.nn as nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.n_head = config.n_head
        self.n_embd = config.n_embd
        self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, -1))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in self.c_attn(x).split(self.n_embd, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(), nn.Linear(4 * config.n_embd, config.n_embd), nn.Dropout(config.dropout)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class right_tied(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                drop=nn.Dropout(config.dropout),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=nn.LayerNorm(config.n_embd),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return self.lm_head(x[:, [-1], :]), None


class Book(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok_emb = nn.Embedding(cfg["vocab_size"], cfg["emb_dim"])
        self.pos_emb = nn.Embedding(cfg["context_length"], cfg["emb_dim"])
        self.drop_emb = nn.Dropout(cfg["drop_rate"])
        self.trf_blocks = nn.Sequential(*[BookBlock(cfg) for _ in range(cfg["n_layers"])])
        self.final_norm = nn.LayerNorm(cfg["emb_dim"])
        self.out_head = nn.Linear(cfg["emb_dim"], cfg["vocab_size"], bias=False)

    def embed(self, in_idx):
        return self.tok_emb(in_idx) + self.pos_emb(torch.arange(in_idx.shape[1], device=in_idx.device))

    def forward(self, in_idx):
        x = self.trf_blocks(self.drop_emb(self.embed(in_idx)))
        return self.out_head(self.final_norm(x))


class BookBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["emb_dim"]
        self.heads = cfg["n_heads"]
        self.W_query = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.W_key = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.W_value = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.out_proj = nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(approximate="tanh"), nn.Linear(4 * d, d))
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)

    def attend(self, x):
        b, n, d = x.shape
        q, k, v = (layer(x).view(b, n, self.heads, -1).transpose(1, 2) for layer in (self.W_query, self.W_key, self.W_value))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(b, n, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.ff(self.norm2(x))


class right_book(Book):
    pass


class right_sizes_one_by_one(nn.Module):
    def __init__(self, vocab_size, n_embd, n_head, n_layer, block_size):
        super().__init__()
        self.token_embedding_table = nn.Embedding(vocab_size, n_embd)
        self.position_embedding_table = nn.Embedding(block_size, n_embd)
        cfg = {"emb_dim": n_embd, "n_heads": n_head, "qkv_bias": True}
        self.blocks = nn.ModuleList([BookBlock(cfg) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx):
        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class wrong_positions_missing(Book):
    def embed(self, in_idx):
        return self.tok_emb(in_idx)


class wrong_positions_by_token_id(Book):
    def embed(self, in_idx):
        return self.tok_emb(in_idx) + self.pos_emb(in_idx % 9)


class wrong_embedding_scaled(Book):
    def embed(self, in_idx):
        return self.tok_emb(in_idx) * self.tok_emb.weight.shape[1] ** 0.5 + self.pos_emb(torch.arange(in_idx.shape[1]))


class wrong_last_norm_missing(Book):
    def forward(self, in_idx):
        return self.out_head(self.trf_blocks(self.embed(in_idx)))


class wrong_probabilities_returned(Book):
    def forward(self, in_idx):
        return torch.softmax(super().forward(in_idx), dim=-1)


class wrong_only_last_block(Book):
    def forward(self, in_idx):
        x = self.embed(in_idx)
        for block in self.trf_blocks:
            y = block(x)
        return self.out_head(self.final_norm(y))


class wrong_hidden_states_returned(Book):
    def forward(self, in_idx):
        return self.final_norm(self.trf_blocks(self.embed(in_idx)))


class right_reads_a_flag_from_its_config(nn.Module):
    """Names a flag after the positions that it removes, and takes the settings as a dict of their own."""

    def __init__(self, cfg):
        super().__init__()
        settings = cfg.to_dict()
        width, heads = settings["emb_dim"], settings["n_heads"]
        self.tok_emb, self.pos_emb = nn.Embedding(settings["vocab_size"], width), nn.Embedding(settings["context_length"], width)
        self.no_pos_emb = cfg.get("no_pos_emb", False)
        self.blocks = nn.ModuleList(FlaggedBlock(width, heads) for _ in range(settings["n_layers"]))
        self.final_norm, self.out_head = nn.LayerNorm(width), nn.Linear(width, settings["vocab_size"], bias=False)

    def forward(self, ids):
        x = self.tok_emb(ids)
        if not self.no_pos_emb:
            x = x + self.pos_emb(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out_head(self.final_norm(x))


class FlaggedBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class wrong_last_norm_missing__reads_a_flag(right_reads_a_flag_from_its_config):
    def forward(self, ids):
        x = self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.out_head(x)


class wrong_positions_by_token_id__of_small_ids(Book):
    def embed(self, in_idx):
        return self.tok_emb(in_idx) + self.pos_emb(in_idx)


class KeptLinear:
    def __init__(self, n_in, n_out, bias=True):
        self.weight, self.bias = torch.randn(n_in, n_out) * 0.1, torch.zeros(n_out) if bias else None

    def __call__(self, x):
        self.out = x @ self.weight if self.bias is None else x @ self.weight + self.bias
        return self.out


class KeptEmbedding:
    def __init__(self, count, width):
        self.weight = torch.randn(count, width) * 0.1

    def __call__(self, ids):
        self.out = self.weight[ids]
        return self.out


class KeptNorm:
    def __init__(self, width):
        self.gamma, self.beta = torch.ones(width), torch.zeros(width)

    def __call__(self, x):
        self.out = self.gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt() + self.beta
        return self.out


class KeptBlock:
    def __init__(self, width, heads):
        self.heads, self.norm_1, self.norm_2 = heads, KeptNorm(width), KeptNorm(width)
        self.query, self.key, self.value, self.proj = (KeptLinear(width, width) for _ in range(4))
        self.fc1, self.fc2 = KeptLinear(width, 4 * width), KeptLinear(4 * width, width)

    def __call__(self, x):
        y = self.norm_1(x)
        q, k, v = (layer(y).view(*y.shape[:2], self.heads, -1).transpose(1, 2) for layer in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), float("-inf"))
        x = x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        self.out = x + self.fc2(F.gelu(self.fc1(self.norm_2(x))))
        return self.out


class right_layers_that_keep_their_outputs:
    def __init__(self, vocab_size, n_embd, n_head, n_layer, block_size):
        self.token_table, self.position_table = KeptEmbedding(vocab_size, n_embd), KeptEmbedding(block_size, n_embd)
        self.blocks = [KeptBlock(n_embd, n_head) for _ in range(n_layer)]
        self.norm, self.lm_head = KeptNorm(n_embd), KeptLinear(n_embd, vocab_size, bias=False)

    def __call__(self, idx):
        x = self.token_table(idx) + self.position_table(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.norm(x))


class wrong_last_norm_missing__layers_that_keep_their_outputs(right_layers_that_keep_their_outputs):
    def __call__(self, idx):
        x = self.token_table(idx) + self.position_table(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(x)
