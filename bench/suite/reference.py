"""Makes inputs and results of the small launches, into the current folder. Seeded; needs NumPy.

Results are plain computations of the same thing, in float64. If rounding can change a decision (an escape, a
hit), the input is left out.
"""

import numpy as np

rng = np.random.default_rng(2711)


def save(kernel, **arrays):
    for name, values in arrays.items():
        np.save(f"{kernel}_{name}.npy", np.ascontiguousarray(values).reshape(-1))


def half(low, high, shape):
    return rng.uniform(low, high, shape).astype(np.float16)


def single(low, high, shape):
    return rng.uniform(low, high, shape).astype(np.float32)


def wide(*arrays):
    return (a.astype(np.float64) for a in arrays)


def collatz():
    numbers = rng.integers(1, 1 << 31, 1000, dtype=np.uint32)
    numbers[:4] = 1, 2, 27, 1117065  # the last takes more than the 400 steps allowed

    def steps(v):
        count = 0
        while v > 1 and count < 400:
            v, count = (3 * v + 1 if v % 2 else v // 2), count + 1
        return count

    save("collatz", numbers=numbers, expect=np.array([steps(int(v)) for v in numbers], np.uint32))


def mandelbrot():
    def escape(c):
        z, left = np.zeros_like(c), np.full(c.shape, 256)
        for k in range(256):
            inside = left == 256
            gone = inside & (np.abs(z) ** 2 > 4)
            left[gone] = k
            z = np.where(left == 256, z * z + c, 0)
        return left

    points = single(-2, 1.5, (4000, 2))
    c = points[:, 0].astype(np.float64) + 1j * points[:, 1]
    counts = [escape(c * (1 + e)) for e in (-3e-6, 0, 3e-6)]
    same = (counts[0] == counts[1]) & (counts[1] == counts[2])
    save("mandelbrot", points=points[same][:1000], expect=counts[1][same][:1000].astype(np.uint32))


def spmv():
    sizes = np.minimum((2 * rng.pareto(1.5, 500)).astype(int), 200)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    column = rng.integers(0, 500, start[-1], dtype=np.int32)
    value, x = single(-1, 1, start[-1]), single(-1, 1, 500)
    row = np.repeat(np.arange(500), sizes)
    y = np.bincount(row, value.astype(np.float64) * x[column], 500)
    save("spmv", start=start, column=column, value=value, x=x, expect=y.astype(np.float32))


def gemm():
    a, b = single(-1, 1, (64, 64)), single(-1, 1, (64, 64))
    save("gemm", a=a, b=b, expect=(a.astype(np.float64) @ b).astype(np.float32))


def bsearch():
    table = np.sort(rng.choice(100_000, 1000, replace=False)).astype(np.uint32)
    keys = np.concatenate([rng.choice(table, 250), rng.integers(0, 101_000, 250)]).astype(np.uint32)
    save("bsearch", table=table, keys=keys, expect=np.searchsorted(table, keys).astype(np.uint32))


def stream():
    b, c = single(-1, 1, 4000), single(-1, 1, 4000)
    save("stream", b=b, c=c, expect=(b + 3.0 * c.astype(np.float64)).astype(np.float32))


def hash_join():
    bits, empty = 9, 0xFFFFFFFF
    keys, values = rng.choice(1000, 320, replace=False), rng.integers(0, 1 << 31, 320)
    build = dict(zip(keys.tolist(), values.tolist()))
    slots = [(empty, 0)] * (1 << bits)
    for k, v in build.items():
        at = (k * 2654435761 & empty) >> 32 - bits
        while slots[at][0] != empty:
            at = (at + 1) % len(slots)
        slots[at] = k, v
    probe = rng.integers(0, 1000, 1000, dtype=np.uint32)
    joined = np.array([build.get(int(k), empty) for k in probe], np.uint32)
    key, value = np.array(slots, np.uint32).T
    count = np.array([np.isin(probe, list(build)).sum()], np.uint32)
    save("hash_join", key=key, value=value, probe=probe, expect=joined, expect_matches=count)


def ray_sphere():
    centre, radius = single(-4, 4, (20, 3)), single(0.3, 1.2, 20)
    origin, direction = single(-5, 5, (2000, 3)), single(-1, 1, (2000, 3))
    o, d, c, r = wide(origin, direction, centre, radius)
    d /= np.linalg.norm(d, axis=1)[:, None]
    to = c[None] - o[:, None]
    along = (to * d[:, None]).sum(2)
    outside = (to**2).sum(2) - r**2
    square = along**2 - outside
    root = np.sqrt(np.maximum(square, 0))
    t = np.where(outside > 0, along - root, along + root)
    t = np.where((square < 0) | ((outside > 0) & (along < 0)), np.inf, t)
    two = np.sort(t, axis=1)[:, :2]
    clear = (np.abs(square) > 0.01).all(1) & (np.abs(outside) > 0.01).all(1)
    clear &= (np.abs(along) > 0.001).all(1)
    clear &= ~(two[:, 1] < two[:, 0] + 0.001)
    keep = np.flatnonzero(clear)[:500]
    t = t[keep]
    hit = np.isfinite(t.min(1))
    save(
        "ray_sphere",
        origin=origin[keep].T,
        direction=direction[keep].T,
        spheres=np.concatenate([centre, radius[:, None]], axis=1),
        expect_distance=np.where(hit, t.min(1), 1e30).astype(np.float32),
        expect_which=np.where(hit, t.argmin(1), -1).astype(np.int32),
    )


def string_match():
    text = rng.integers(97, 100, 4000, dtype=np.uint8)
    pattern = b"abca"
    found = [text[i : i + 4].tobytes() == pattern for i in range(3997)]
    save(
        "string_match",
        text=text,
        pattern=np.frombuffer(pattern, np.uint8),
        expect=np.array(found, np.uint8),
        expect_matches=np.array([sum(found)], np.uint32),
    )


def bfs():
    n = 600
    degrees = np.minimum((2 * rng.pareto(1.2, n)).astype(int), 100)
    start = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    edges = (n * rng.random(start[-1]) ** 2).astype(np.int32)
    frontier = np.sort(rng.choice(n, 150, replace=False)).astype(np.int32)
    level = np.where(rng.random(n) < 0.2, 1, -1).astype(np.int32)
    level[frontier] = 2
    after = level.copy()
    for v in frontier:
        to = edges[start[v] : start[v + 1]]
        after[to[level[to] < 0]] = 3
    size = np.array([(after == 3).sum()], np.int32)
    save("bfs", start=start, edges=edges, level=level, frontier=frontier)
    save("bfs", expect_level=after, expect_size=size)


def smith_waterman():
    pairs, most = 60, 32
    size_q, size_t = (rng.integers(5, most + 1, pairs).astype(np.int32) for _ in range(2))
    query = rng.integers(0, 4, (pairs, most), dtype=np.uint8)
    target = rng.integers(0, 4, (pairs, most), dtype=np.uint8)
    target[::2, 3:20], target[::2, 22:] = query[::2, :17], query[::2, 17:27]  # with gaps between

    def score(q, t):
        h = np.zeros((len(q) + 1, len(t) + 1), int)
        for i in range(1, len(q) + 1):
            for j in range(1, len(t) + 1):
                # A gap of g letters costs 3 + (g - 1).
                up = max(h[i - g, j] - 2 - g for g in range(1, i + 1))
                left = max(h[i, j - g] - 2 - g for g in range(1, j + 1))
                h[i, j] = max(0, h[i - 1, j - 1] + (2 if q[i - 1] == t[j - 1] else -1), up, left)
        return h.max()

    best = [score(q[:m], t[:n]) for q, m, t, n in zip(query, size_q, target, size_t)]
    save(
        "smith_waterman",
        query=query,
        query_size=size_q,
        target=target,
        target_size=size_t,
        expect=np.array(best, np.int32),
    )


def radix_rank():
    keys = rng.integers(0, 1 << 32, (2, 1024), dtype=np.uint32)
    keys[1] &= 0x0FFFF33F  # fewer digits in the second tile
    digit = keys >> 8 & 15
    order = np.argsort(digit, axis=1, kind="stable")
    histogram = np.array([np.bincount(d, minlength=16) for d in digit]).T
    save(
        "radix_rank",
        keys=keys,
        expect=np.take_along_axis(keys, order, 1),
        expect_histogram=histogram.astype(np.uint32),
    )


def attention(q, k, scale):
    """Scores of causal attention and their log-sum-exp, of (heads, tokens, D)."""
    s = scale * np.einsum("hid,hjd->hij", q, k)
    s = np.where(np.tri(s.shape[1], dtype=bool), s, -np.inf)
    high = s.max(-1, keepdims=True)
    return s, high + np.log(np.exp(s - high).sum(-1, keepdims=True))


def flash_fwd():
    q, k, v = (rng.normal(0, 1, (2, 128, 64)).astype(np.float16) for _ in range(3))
    qw, kw, vw = wide(q, k, v)
    s, lse = attention(qw, kw, 0.125)
    out = (np.exp(s - lse) @ vw).astype(np.float16)
    save("flash_fwd", q=q, k=k, v=v, expect=out, expect_lse=lse.astype(np.float32))


def flash_bwd():
    q, k, v, do = (rng.normal(0, 1, (1, 128, 64)).astype(np.float16) for _ in range(4))
    qw, kw, vw, dow = wide(q, k, v, do)
    s, lse = attention(qw, kw, 0.125)
    p = np.exp(s - lse)
    delta = (dow * (p @ vw)).sum(-1, keepdims=True)
    ds = 0.125 * p * (dow @ vw.transpose(0, 2, 1) - delta)
    save(
        "flash_bwd",
        q=q,
        k=k,
        v=v,
        do=do,
        lse=lse.astype(np.float32),
        delta=delta.astype(np.float32),
        expect_dk=(ds.transpose(0, 2, 1) @ qw).astype(np.float32),
        expect_dv=(p.transpose(0, 2, 1) @ dow).astype(np.float32),
    )


def layernorm_bwd():
    x, dy, weight = half(-2, 3, (7, 608)), half(-1, 1, (7, 608)), single(0.5, 1.5, 608)
    xw, dyw, w = wide(x, dy, weight)
    mean = xw.mean(1, keepdims=True)
    rstd = 1 / np.sqrt(xw.var(1, keepdims=True) + 1e-5)
    unit = (xw - mean) * rstd
    g = dyw * w
    dx = rstd * (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True))
    parts = [[(dyw * unit)[i::3].sum(0), dyw[i::3].sum(0)] for i in range(3)]  # three programs
    save(
        "layernorm_bwd",
        x=x,
        dy=dy,
        weight=weight,
        mean=mean.astype(np.float32),
        rstd=rstd.astype(np.float32),
        expect_dx=dx.astype(np.float16),
        expect_dweight=np.array([p[0] for p in parts], np.float32),
        expect_dbias=np.array([p[1] for p in parts], np.float32),
    )


def rope():
    x, position = half(-1, 1, (5, 12, 128)), np.array([3, 0, 41, 17, 60], np.int32)
    angle = np.arange(61)[:, None] / 10000.0 ** (np.arange(64) / 64)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    left, right = wide(x[..., :64], x[..., 64:])
    c, s = cos[position][:, None], sin[position][:, None]
    out = np.concatenate([left * c - right * s, right * c + left * s], axis=-1)
    save("rope", x=x, position=position, cos=cos, sin=sin, expect=out.astype(np.float16))


def cross_entropy():
    logits, label = half(-4, 4, (6, 2000)), np.array([0, 1999, -100, 1024, 77, -1], np.int32)
    x = logits.astype(np.float64)
    lse = np.log(np.exp(x).sum(1, keepdims=True))
    loss = lse[:, 0] - x[np.arange(6), np.maximum(label, 0)]
    gradient = np.exp(x - lse)
    gradient[np.arange(6), np.maximum(label, 0)] -= 1
    loss[label < 0], gradient[label < 0] = 0, 0
    save(
        "cross_entropy",
        logits=logits,
        label=label,
        expect_loss=loss.astype(np.float32),
        expect_grad=gradient.astype(np.float16),
    )


def topk():
    x = np.array([rng.permutation(400) for _ in range(8)], np.float32) / 8 - 20
    where = np.argsort(-x, axis=1)[:, :5].astype(np.int32)
    save("topk", x=x, expect_value=np.take_along_axis(x, where, 1), expect_index=where)


def moe_route():
    # The steps of a row are far apart, so that no order hangs on rounding.
    logits = np.array([rng.permutation(48) for _ in range(50)]) * rng.uniform(0.03, 0.3, (50, 1))
    logits = logits.astype(np.float32)
    p = np.exp(logits.astype(np.float64))
    expert = np.argsort(-p, axis=1)[:, :2].astype(np.int32)
    two = np.take_along_axis(p, expert, 1)
    save(
        "moe_route",
        logits=logits,
        expect_expert=expert,
        expect_weight=(two / two.sum(1, keepdims=True)).astype(np.float32),
        expect_count=np.bincount(expert.reshape(-1), minlength=48).astype(np.int32),
    )


def int4_gemm():
    a, w, scale = half(-1, 1, (50, 128)), rng.integers(0, 16, (128, 64)), half(0.01, 0.1, (2, 64))
    shift = 4 * np.arange(8, dtype=np.uint32)[:, None]
    packed = (w.reshape(16, 8, 64).astype(np.uint32) << shift).sum(1, dtype=np.uint32)
    whole = (w - 8) * np.repeat(scale.astype(np.float64), 64, axis=0)
    c = (a.astype(np.float64) @ whole).astype(np.float16)
    save("int4_gemm", a=a, w=packed.view(np.int32), scale=scale, expect=c)


def fp8_gemm():
    def widen(byte):
        """e4m3: bias 7."""
        e, m = byte >> 3 & 15, byte & 7
        return (-1 if byte & 0x80 else 1) * (m * 2.0**-9 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7))

    value = np.array([widen(i) for i in range(256)])
    # Magnitudes below 2, of either sign.
    a, b = (rng.integers(0, 0x40, (n, 128)) | rng.choice([0, 0x80], (n, 128)) for n in (96, 80))
    sa, sb = single(0.5, 2, 96), single(0.5, 2, 80)
    c = value[a] @ value[b].T * sa[:, None] * sb[None, :]
    bits = c.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # bfloat16, to nearest even
    a, b = a.astype(np.uint8), b.astype(np.uint8)
    save("fp8_gemm", a=a, b=b, a_scale=sa, b_scale=sb, expect=bits.astype(np.uint16))


def paged_attention():
    heads, group, d, page, most = 8, 4, 64, 16, 7
    length = np.array([100, 37, 7], np.int32)
    k, v = (rng.normal(0, 1, (3, page, heads, d)).astype(np.float16) for _ in range(2))  # pages are shared
    q = rng.normal(0, 1, (3, heads, group, d)).astype(np.float16)
    table = rng.integers(0, 3, (3, most), dtype=np.int32)
    qw, kw, vw = wide(q, k, v)
    out = np.empty(q.shape)
    for i, n in enumerate(length):
        at = np.arange(n)
        rows = table[i, at // page], at % page
        s = 0.125 * np.einsum("hgd,nhd->hgn", qw[i], kw[rows])
        p = np.exp(s - s.max(-1, keepdims=True))
        out[i] = np.einsum("hgn,nhd->hgd", p / p.sum(-1, keepdims=True), vw[rows])
    save("paged_attention", q=q, k=k, v=v, table=table, length=length, expect=out.astype(np.float16))


for make in (
    collatz, mandelbrot, spmv, gemm, bsearch, stream, hash_join, ray_sphere, string_match, bfs,
    smith_waterman, radix_rank, flash_fwd, flash_bwd, layernorm_bwd, rope, cross_entropy, topk, moe_route,
    int4_gemm, fp8_gemm, paged_attention,
):  # fmt: skip
    make()
