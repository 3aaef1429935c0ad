"""A training step, eager or compiled: torch_step.py [compile]"""

import sys

import torch

torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 16))
model = model.cuda()
step = torch.compile(model) if "compile" in sys.argv[1:] else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 16, (64,), device="cuda")
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(step(x), y)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(f"loss {loss.item():.4f}")
