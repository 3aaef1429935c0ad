"""Row sums above a threshold in Triton: masks, a loop, an atomic."""

import torch
import triton
import triton.language as tl


@triton.jit
def above(x, out, count, n, least, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, n, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + columns, columns < n, 0.0)
        total += tl.where(v > least, v, 0.0)
    s = tl.sum(total, 0)
    tl.store(out + row, s)
    if s > 100.0:
        tl.atomic_add(count, 1)


torch.manual_seed(3)
x = torch.rand(64, 1000, device="cuda")
out, count = torch.zeros(64, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")
for least in (0.25, 0.5, 0.75):
    above[(64,)](x, out, count, 1000, least, BLOCK=256)
torch.cuda.synchronize()
print("sum", out.double().sum().item(), "count", count.item())
