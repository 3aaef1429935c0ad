"""What `prlx.torch.compare_steps` and the training monitor do on a GPU: torch_steps.py WHEEL

It needs PyTorch with a GPU. The wheel is unpacked into a temporary folder. The program prints one line for
each case: what was expected, what came, and the time. It ends with 1 if a case failed. Cases run twice: as a plain
program, and under `prlx record`, where reports also name launches and their kernels. The cases with Triton kernels
run a third time, under the command that the first run prints for their causes: reports then end at a line.
"""

import contextlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

LAYERS, WIDTH, HEADS, LENGTH, BATCH, WORDS = 4, 256, 4, 128, 4, 1000


def model_class(torch):
    F = torch.nn.functional

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
            self.out = torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = (t.view(b, n, HEADS, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
            # By hand: the backward pass of fused attention adds in an order that changes from run to run.
            hidden = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(hidden, -math.inf)
            x = scores.softmax(-1) @ v
            return self.out(x.transpose(1, 2).reshape(b, n, WIDTH))

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.attention = Attention()
            self.up, self.act = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU()
            self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.down(self.act(self.up(self.norm2(x))))

    class Model(torch.nn.Module):
        """A small GPT. Returns the loss."""

        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(WORDS, WIDTH)
            self.places = torch.nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
            self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.head = torch.nn.Linear(WIDTH, WORDS)

        def forward(self, words):
            x = self.words(words) + self.places
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return F.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten())

    return Model


@contextlib.contextmanager
def planted(owner, name, value):
    """Replaces an attribute of an instance for a while."""
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name)


class Cases:
    def __init__(self):
        import torch

        self.torch = torch
        torch.manual_seed(0)
        self.model = model_class(torch)().cuda()
        self.batch = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
        self.rows = []

    def row(self, name, expected, got, began, good=None):
        good = expected == got if good is None else good
        self.rows.append((name, str(expected), str(got), time.perf_counter() - began, good))
        print(
            f"{'ok  ' if good else 'FAIL'} {name:<34} {time.perf_counter() - began:6.1f} s  {got}", flush=True
        )
        if not good:
            print(f"     expected {expected}", flush=True)

    def compare(self, name, setups, expected, **options):
        """Compares steps; `expected` is the verdict, or the phase and module of the first difference."""
        import prlx.torch

        began = time.perf_counter()
        states = self.torch.get_rng_state(), self.torch.cuda.get_rng_state()
        try:
            found = prlx.torch.compare_steps(self.model, self.batch, setups, **options)
        except Exception as e:  # One case must not end the others.
            self.row(name, expected, f"{type(e).__name__}: {e}", began)
            return None
        first = found.first
        got = found.verdict if first is None else f"{first.phase} {first.module}"
        self.row(name, expected, got, began)
        untouched = self.torch.equal(states[0], self.torch.get_rng_state())
        untouched &= self.torch.equal(states[1], self.torch.cuda.get_rng_state())
        if not untouched:
            self.row(f"{name}: random numbers", "as before", "changed", began)
        print("     " + str(found).replace("\n", "\n     "), flush=True)
        return found

    def steps(self):
        torch, F = self.torch, self.torch.nn.functional
        self.compare("eager, twice", ["eager", "eager"], "same")
        self.compare("compile", ["eager", "compile"], "same")
        self.compare("autocast bfloat16, float16", ["eager", "autocast", "autocast:float16"], "same")
        self.compare(
            "autocast within 1e-6", ["eager", "autocast"], "forward blocks.0.attention.qkv", rtol=1e-6
        )

        def other_scale(model, words):
            attention = model.blocks[2].attention
            with planted(attention, "forward", lambda x: type(attention).forward(attention, x) * 1.001):
                return model(words)

        self.compare("a scaled attention", ["eager", other_scale], "forward blocks.2.attention")

        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 1.01

        def wrong_backward(model, words):
            with planted(model.blocks[1].act, "forward", lambda x: Wrong.apply(F.gelu(x))):
                return model(words)

        self.compare("a wrong backward", ["eager", wrong_backward], "backward blocks.1.act")
        self.kernels()

    def kernels(self):
        """The activation as a Triton kernel. Wrong ones leave out the last 16 elements of each row (Triton compiles
        another kernel for a size that 16 does not divide), or multiply the gradient."""
        torch = self.torch
        import triton
        import triton.language as tl

        @triton.jit
        def gelu_rows(out, x, columns, last, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            inside = at < last  # wrong forward
            start = tl.program_id(0) * columns
            v = tl.load(x + start + at, mask=inside, other=0.0)
            tl.store(out + start + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=inside)

        @triton.jit
        def copy_rows(out, x, columns, last, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            start = tl.program_id(0) * columns
            v = tl.load(x + start + at, mask=at < columns, other=0.0)
            tl.store(out + start + at, v, mask=at < columns)

        @triton.jit
        def copy_scaled_rows(out, x, columns, last, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            start = tl.program_id(0) * columns
            v = tl.load(x + start + at, mask=at < columns, other=0.0)
            v = v * 1.5  # wrong backward
            tl.store(out + start + at, v, mask=at < columns)

        def rows(kernel, x, missing=0):
            out, columns = torch.zeros_like(x), x.shape[-1]
            grid = (x.numel() // columns,)
            block = triton.next_power_of_2(columns)
            kernel[grid](out, x.contiguous(), columns, columns - missing, BLOCK=block)
            return out

        class Copy(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, kernel):
                ctx.kernel = kernel
                return rows(copy_rows, x)

            @staticmethod
            def backward(ctx, gradient):
                return rows(ctx.kernel, gradient), None

        def setup(name, missing=0, backward=copy_rows):
            # The gradient goes through the copy alone.
            def activation(x):
                return Copy.apply(rows(gelu_rows, x.detach(), missing) + 0.5 * x, backward)

            def call(model, words):
                with planted(model.blocks[1].act, "forward", activation):
                    return model(words)

            return name, call

        def gelu(model, words):
            of_pytorch = torch.nn.functional.gelu
            with planted(model.blocks[1].act, "forward", lambda x: of_pytorch(x.detach()) + 0.5 * x):
                return model(words)

        right, wrong = setup("right"), setup("wrong", missing=16)
        self.compare("a right Triton kernel", [gelu, right], "same")
        forward = self.compare("a wrong Triton kernel", [right, wrong], "forward blocks.1.act")
        backward = self.compare(
            "a wrong kernel of the backward pass",
            [right, setup("wrong", backward=copy_scaled_rows)],
            "backward blocks.1.act",
        )
        alone = self.compare("no kernel to compare with", [gelu, wrong], "forward blocks.1.act")
        if recorded() and not captured() and forward is not None and forward.first is not None:
            kernels = (forward.first.kernels or {}).get("wrong", [])
            got = next((k for k in kernels if "gelu" in k), kernels)
            self.row("its launch is named", "gelu_rows", got, time.perf_counter())
        self.causes(forward, backward, alone)

    def causes(self, forward, backward, alone):
        """Where the reports on Triton kernels end: at a line, or at a command that leads there."""
        began = time.perf_counter()
        for name, found, kernel, line in (
            ("the cause of a wrong kernel", forward, "gelu_rows", "inside = at < last"),
            ("the cause of a wrong backward", backward, "copy_scaled_rows", "v = v * 1.5"),
            ("a kernel alone", alone, "gelu_rows", None),
        ):
            cause = found and found.first and found.first.cause
            text = "\n".join(cause.lines()) if cause else "no cause"
            if not captured():
                want = ["prlx record -o cause.prlx --capture --range 'prlx cause' -- ", "torch_steps.py"]
            elif line is None:
                want = [kernel, "has no launch to compare with", "kernels were not captured"]
            else:
                want = [kernel, f"torch_steps.py:{line_of(line)}:"]
            if captured() and line is not None:
                good = kernel in text and near(text, line_of(line))
            else:
                good = all(part in text for part in want)
            self.row(name, want, text.replace("\n", " | "), began, good=good)

    def training(self, monitor=None, fault_at=None, steps=20):
        """Trains. Returns the losses and the milliseconds of a step."""
        torch = self.torch
        torch.manual_seed(1)
        model = model_class(torch)().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        if monitor is not None:
            monitor.watch(model)
        losses, times = [], []
        for i in range(steps):
            fault = contextlib.nullcontext()
            if i == fault_at:
                fault = planted(model.blocks[2].act, "forward", lambda x: torch.sqrt(x - 100))
            torch.cuda.synchronize()
            began = time.perf_counter()
            with fault, monitor.step(i) if monitor is not None else contextlib.nullcontext() as context:
                words = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
                optimizer.zero_grad()
                loss = model(words)
                loss.backward()
                optimizer.step()
                if context is not None:
                    context.report_loss(loss)
                    context.report_items(words.numel())
            torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
            losses.append(loss.item())
        return losses, 1e3 * sorted(times)[len(times) // 2]

    def monitor(self):
        import prlx

        torch = self.torch
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            again, _ = self.training()
            plain, bare = self.training()
            watched, cost = self.training(prlx.PrlxTrainingMonitor(folder))
            bits = [torch.tensor(losses).view(torch.int32).tolist() for losses in (plain, watched)]
            same = "the same losses" if bits[0] == bits[1] else "OTHER LOSSES"
            if again != plain:
                same += " (two runs without it differ, too)"
            text = f"{same}; {bare:.2f} ms a step, with the monitor {cost:.2f} ms"
            self.row("losses with the monitor", "the same losses", text, began, good=bits[0] == bits[1])
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            monitor = prlx.PrlxTrainingMonitor(folder)
            self.training(monitor, fault_at=12)
            first = next((a for a in monitor.anomalies if a.step == 12), None)
            got = first and f"{first.type.value} {first.phase} {first.module}"
            self.row("a planted NaN", "nan forward blocks.2.act", got, began)
            if recorded():
                self.row(
                    "its launches",
                    "a range",
                    first and first.launches,
                    began,
                    good=bool(first and first.launches),
                )
            print("     " + json.dumps(monitor.report()["anomalies"][:1]), flush=True)
        began = time.perf_counter()
        with prlx.pytorch_trace("a part") as part:
            torch.ones(8, device="cuda").sum().item()
        good = (part.launches is not None) == recorded()
        self.row("a named part", "launches if recorded", part.launches, began, good=good)


def recorded():
    return "PRLX_SESSION" in os.environ


def captured():
    """Whether launches are captured."""
    return recorded() and json.loads(os.environ["PRLX_SESSION"]).get("capture") is not None


def near(text, line):
    """Whether a cause is at this line, or at one within three lines: machine code of several lines is mixed."""
    found = re.search(r"^cause .* at \S*torch_steps\.py:(\d+):", text, re.M)
    return found is not None and abs(int(found[1]) - line) <= 3


def line_of(text):
    """The number of the first line of this program that begins with a text."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip().startswith(text))


def child():
    cases = Cases()
    if captured():
        cases.kernels()
    else:
        cases.steps()
        cases.monitor()
    print(f"{sum(r[-1] for r in cases.rows)} passed, {sum(not r[-1] for r in cases.rows)} failed", flush=True)
    sys.exit(any(not r[-1] for r in cases.rows))


def main():
    if sys.argv[1] == "--child":
        child()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(f"{folder}/wheel")
        prlx = pathlib.Path(folder, "wheel/prlx/bin/prlx")
        prlx.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": f"{folder}/wheel"}
        child_words = [sys.executable, __file__, "--child"]
        record = [str(prlx), "record", "-o", f"{folder}/run", "--"]
        capture = [str(prlx), "record", "-o", f"{folder}/cause", "--capture", "--range", "prlx cause", "--"]
        failed = False
        for title, words in (
            ("plain", child_words),
            ("under prlx record", [*record, *child_words]),
            ("with captures", [*capture, *child_words]),
        ):
            print(f"== {title}", flush=True)
            began = time.perf_counter()
            failed |= subprocess.run(words, env=environment).returncode != 0
            print(f"== {title}: {time.perf_counter() - began:.0f} s", flush=True)
        sys.exit(failed)


if __name__ == "__main__":
    main()
