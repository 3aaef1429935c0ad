"""Training steps of a compiled transformer block, each of which is timed: torch_training.py [STEPS]"""

import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 6
width = 512
torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)


class Block(torch.nn.Module):
    """Attention and a multilayer perceptron, each with a residual connection."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (8, -1)).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) * (width // 8) ** -0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


model = torch.nn.Sequential(*(Block() for _ in range(4))).cuda()
step = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randn(16, 256, width, device="cuda")
times = []
for _ in range(steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = (step(x) - x.roll(1, 1)).square().mean()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
print(f"loss {loss.item():.4f}")
print("ms a step:", *(f"{1000 * t:.2f}" for t in times), file=sys.stderr)
