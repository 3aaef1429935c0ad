"""Cross entropy and its gradient: a program owns a row. It ignores rows with a negative label."""

import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits_ptr, label_ptr, loss_ptr, grad_ptr, vocabulary, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(label_ptr + row)
    begin = row.to(tl.int64) * vocabulary
    if label < 0:
        tl.store(loss_ptr + row, 0.0)
        for first in range(0, vocabulary, BLOCK):
            at = first + tl.arange(0, BLOCK)
            tl.store(grad_ptr + begin + at, tl.zeros([BLOCK], tl.float16), at < vocabulary)
        return
    high = float("-inf")
    norm = 0.0
    for first in range(0, vocabulary, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + begin + at, at < vocabulary, float("-inf")).to(tl.float32)
        new = tl.maximum(high, tl.max(x, axis=0))
        norm = norm * tl.exp(high - new) + tl.sum(tl.exp(x - new), axis=0)
        high = new
    lse = high + tl.log(norm)
    tl.store(loss_ptr + row, lse - tl.load(logits_ptr + begin + label).to(tl.float32))
    for first in range(0, vocabulary, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + begin + at, at < vocabulary, float("-inf")).to(tl.float32)
        p = tl.exp(x - lse) - tl.where(at == label, 1.0, 0.0)
        tl.store(grad_ptr + begin + at, p.to(tl.float16), at < vocabulary)


BUILD = dict(
    kernel=cross_entropy,
    signature={
        "logits_ptr": "*fp16",
        "label_ptr": "*i32",
        "loss_ptr": "*fp32",
        "grad_ptr": "*fp16",
        "vocabulary": "i32",
    },
    constexprs={"BLOCK": 1024},
    num_warps=4,
    aligned=["vocabulary"],
)
