"""Routing of tokens to experts: softmax, the best two, and a slot of each expert by an atomic count."""

import triton
import triton.language as tl


@triton.jit
def moe_route(
    logits_ptr, expert_ptr, weight_ptr, slot_ptr, count_ptr, tokens, experts,
    TOKENS: tl.constexpr, EXPERTS: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    expert = tl.arange(0, EXPERTS)
    inside = token < tokens
    mask = inside[:, None] & (expert < experts)[None, :]
    x = tl.load(logits_ptr + token[:, None] * experts + expert[None, :], mask, float("-inf"))
    x = tl.where(inside[:, None], x, 0.0)
    p = tl.exp(x - tl.max(x, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    first, which = tl.max(p, axis=1, return_indices=True)
    rest = tl.where(expert[None, :] == which[:, None], -1.0, p)
    second, other = tl.max(rest, axis=1, return_indices=True)
    tl.store(expert_ptr + token * 2, which, inside)
    tl.store(expert_ptr + token * 2 + 1, other, inside)
    tl.store(weight_ptr + token * 2, first / (first + second), inside)
    tl.store(weight_ptr + token * 2 + 1, second / (first + second), inside)
    tl.store(slot_ptr + token * 2, tl.atomic_add(count_ptr + which, 1, inside), inside)
    tl.store(slot_ptr + token * 2 + 1, tl.atomic_add(count_ptr + other, 1, inside), inside)


BUILD = dict(
    kernel=moe_route,
    signature={
        "logits_ptr": "*fp32",
        "expert_ptr": "*i32",
        "weight_ptr": "*fp32",
        "slot_ptr": "*i32",
        "count_ptr": "*i32",
        "tokens": "i32",
        "experts": "i32",
    },
    constexprs={"TOKENS": 32, "EXPERTS": 64},
    num_warps=4,
    aligned=["experts"],
)
