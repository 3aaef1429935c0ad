"""Trains a GPT-2 for some steps: gpt2_step.py [--steps N] [--compile] [sizes]

It prints the loss of each step as a hexadecimal float, and a hash of the parameters after the last one. Two runs on
the same machine with the same options print the same. So the output with and without `prlx record` shows whether
recording changes a bit. It needs PyTorch, and no data: the words are random numbers, the same in each run.

The default sizes are small. These are GPT-2's:

    gpt2_step.py --layers 12 --width 768 --heads 12 --length 1024 --words 50257
"""

import argparse
import ctypes
import hashlib
import math
import os

# cuBLAS has a fixed order of its sums with this setting.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal self-attention of several heads. Fused attention adds gradients in an order that changes."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        later = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(later, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Returns the loss. The head has the weight of the embedding of words."""

    def __init__(self, o):
        super().__init__()
        self.words, self.places = nn.Embedding(o.words, o.width), nn.Embedding(o.length, o.width)
        self.blocks = nn.ModuleList(Block(o.width, o.heads) for _ in range(o.layers))
        self.norm = nn.LayerNorm(o.width)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                # Layers whose outputs are added up begin smaller, as in GPT-2.
                added = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * o.layers) if added else 1))

    def forward(self, text):
        x = self.words(text) + self.places(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.words.weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), text[:, 1:].flatten())


def digest(model):
    """A hash of all parameters: their names, shapes and bits."""
    total = hashlib.sha256()
    for name, p in sorted(model.named_parameters()):
        values = p.detach().cpu().contiguous()
        total.update(f"{name} {tuple(values.shape)}".encode())
        total.update(ctypes.string_at(values.data_ptr(), values.nbytes))
    return total.hexdigest()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="store_true", help="run the model by torch.compile")
    parser.add_argument("--autocast", action="store_true", help="forward and loss in bfloat16")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"steps": 4, "layers": 4, "width": 256, "heads": 4, "length": 128, "batch": 4, "words": 1000}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, metavar="N", help=f"by default {size}")
    return parser.parse_args()


def main():
    o = options()
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    model = GPT2(o).to(o.device)
    # Drawn by the CPU, so that no kernel of a GPU makes them.
    texts = torch.randint(0, o.words, (o.steps, o.batch, o.length)).to(o.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    step = torch.compile(model) if o.compile else model
    for i, text in enumerate(texts):
        optimizer.zero_grad()
        with torch.autocast(o.device, torch.bfloat16, enabled=o.autocast):
            loss = step(text)
        loss.backward()
        optimizer.step()
        print(f"step {i}  loss {loss.item().hex()}", flush=True)
    print(f"parameters  {digest(model)}")


if __name__ == "__main__":
    main()
