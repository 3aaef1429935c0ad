"""Runs five functions under torch.compile: make.py [NAME...]

`prlx record -- python3 make.py` shows the launches of their kernels. Their PTX is in Triton's cache
(`TRITON_CACHE_DIR`), their arguments in the output of `TORCH_LOGS=output_code`. `torch_NAME.ptx` is that PTX without
debug sections and paths (PyTorch 2.11, Triton 3.6, sm_90a); `torch_NAME.toml` launches it.
"""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import flex_attention

torch._inductor.config.max_autotune_gemm_backends = "TRITON"


def half(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def single(*shape):
    return torch.randn(*shape, device="cuda")


KERNELS = {
    "gemm": (lambda a, b: a @ b, lambda: (half(2048, 2048), half(2048, 2048))),
    "softmax": (lambda x: torch.softmax(x, -1), lambda: (single(16384, 4096),)),
    "pool": (lambda x: F.max_pool2d(x, 3, 2, 1), lambda: (single(64, 64, 112, 112),)),
    "gather": (
        lambda x, i: torch.gather(x, 0, i),
        lambda: (single(65536, 512), torch.randint(0, 65536, (65536, 512), device="cuda")),
    ),
    "attention": (flex_attention, lambda: [half(4, 16, 2048, 64) for _ in range(3)]),
}

for name, (function, inputs) in KERNELS.items():
    if len(sys.argv) > 1 and name not in sys.argv:
        continue
    mode = "max-autotune-no-cudagraphs" if name == "gemm" else None
    out = torch.compile(function, mode=mode, dynamic=False)(*inputs())
    torch.cuda.synchronize()
    print(name, tuple(out.shape), flush=True)
