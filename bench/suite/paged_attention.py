"""Attention of one new token over a paged cache: a program owns a sequence and a head of K and V."""

import triton
import triton.language as tl


@triton.jit
def paged_attention(
    q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, out_ptr, pages_most, scale,
    HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(length_ptr + sequence)
    inner = tl.arange(0, D)
    # GROUP queries share a head of the cache; a product needs 16 rows.
    query = tl.arange(0, 16)
    at = (sequence * HEADS * GROUP + head * GROUP + query)[:, None] * D + inner[None, :]
    q = tl.load(q_ptr + at, (query < GROUP)[:, None], 0.0)
    high = tl.full([16], float("-inf"), tl.float32)
    norm = tl.zeros([16], tl.float32)
    out = tl.zeros([16, D], tl.float32)
    for first in range(0, length, BN):
        token = first + tl.arange(0, BN)
        inside = token < length
        page = tl.load(table_ptr + sequence * pages_most + token // PAGE, inside, 0).to(tl.int64)
        row = ((page * PAGE + token % PAGE) * HEADS + head) * D
        k = tl.load(k_ptr + row[None, :] + inner[:, None], inside[None, :], 0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, float("-inf"))
        new = tl.maximum(high, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(high - new)
        norm = norm * shrink + tl.sum(p, axis=1)
        v = tl.load(v_ptr + row[:, None] + inner[None, :], inside[:, None], 0.0)
        out = out * shrink[:, None] + tl.dot(p.to(tl.float16), v)
        high = new
    tl.store(out_ptr + at, (out / norm[:, None]).to(tl.float16), (query < GROUP)[:, None])


BUILD = dict(
    kernel=paged_attention,
    signature={
        "q_ptr": "*fp16",
        "k_ptr": "*fp16",
        "v_ptr": "*fp16",
        "table_ptr": "*i32",
        "length_ptr": "*i32",
        "out_ptr": "*fp16",
        "pages_most": "i32",
        "scale": "fp32",
    },
    constexprs={"HEADS": 8, "GROUP": 4, "D": 64, "PAGE": 16, "BN": 64},
    num_warps=4,
    num_stages=2,
)
