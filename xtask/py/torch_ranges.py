"""What `prlx.torch.annotate` and `prlx.torch.step` do on a GPU: torch_ranges.py WHEEL

It needs PyTorch with a GPU. The wheel is unpacked into a temporary folder. The program trains the small GPT of
`torch_steps.py` for three steps, with and without ranges, and under `prlx record`. It prints a line for each case:
what was expected, and what came. It ends with 1 if a case failed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import torch_steps

STEPS = 3


def train(annotated, operators=False):
    """Trains. Returns the losses, the random state, the memory peak in bytes, and the milliseconds of a step."""
    import contextlib

    import prlx.torch
    import torch

    torch.manual_seed(1)
    torch.cuda.reset_peak_memory_stats()
    model = torch_steps.model_class(torch)().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    annotation = prlx.torch.annotate(model, operators=operators) if annotated else contextlib.nullcontext()
    losses, times = [], []
    with annotation:
        for _ in range(STEPS):
            torch.cuda.synchronize()
            began = time.perf_counter()
            with prlx.torch.step() if annotated else contextlib.nullcontext():
                words = torch.randint(0, torch_steps.WORDS, (torch_steps.BATCH, torch_steps.LENGTH), device="cuda")
                optimizer.zero_grad()
                loss = model(words)
                loss.backward()
                optimizer.step()
            torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - began))
            losses.append(loss.item())
    del model, optimizer, loss
    return losses, torch.cuda.get_rng_state().tolist(), torch.cuda.max_memory_allocated(), min(times)


def child(what):
    if what == "operators":
        print(json.dumps(train(True, operators=True)))
        return
    train(False)  # Libraries take their own memory first.
    print(json.dumps([train(False), train(True), train(False)]))


def table(folder):
    """The ranges of each launch: `in` a step, `forward` or `backward` of a module, and operators."""
    import prlx

    rows = [set((text or "").split(" > ")) for text in prlx.read(folder).launches["ranges"]]
    count = lambda test: sum(any(map(test, row)) for row in rows)  # noqa: E731
    return {
        "launches": len(rows),
        "in a step": count(lambda name: name.startswith("step ")),
        "forward": count(lambda name: name.endswith(", forward")),
        "backward": count(lambda name: name.endswith(", backward")),
        "operators": count(lambda name: name.startswith("aten::")),
        "modules": len({n for row in rows for n in row if n.endswith((", forward", ", backward"))}),
    }


def main():
    if sys.argv[1] == "--child":
        child(sys.argv[2])
        return
    failed = False

    def row(name, good, got):
        nonlocal failed
        failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {name:<34} {got}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(f"{folder}/wheel")
        prlx = pathlib.Path(folder, "wheel/prlx/bin/prlx")
        prlx.chmod(0o755)
        os.environ["PYTHONPATH"] = f"{folder}/wheel"
        sys.path.insert(0, f"{folder}/wheel")

        def run(words):
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                row(" ".join(words[-2:]), False, f"exit code {done.returncode}")
                return None
            return json.loads(done.stdout.splitlines()[-1])

        words = [sys.executable, __file__, "--child"]
        runs = run([*words, "plain"])
        if runs:
            bare, ranges, again = runs
            repeats = bare[0] == again[0]
            row("losses", bare[0] == ranges[0] or not repeats, f"{ranges[0]}, twice the same: {repeats}")
            row("random numbers", bare[1] == ranges[1], "as without ranges")
            row("memory peak", bare[2] == ranges[2], f"{bare[2]} and {ranges[2]} bytes")
            row("time of a step", True, f"{bare[3]:.2f} ms, with ranges {ranges[3]:.2f} ms")
        record = [str(prlx), "record", "-o", f"{folder}/run", "--", *words, "operators"]
        if run(record):
            counts = table(f"{folder}/run")
            row("launches in a step", counts["in a step"] > 0.95 * counts["launches"], counts)
            row("forward", counts["forward"] > 0, counts["forward"])
            row("backward", counts["backward"] > counts["forward"] / 2, counts["backward"])
            row("operators", counts["operators"] > counts["launches"] / 2, counts["operators"])
            shown = subprocess.run([str(prlx), "inspect", f"{folder}/run"], stdout=subprocess.PIPE, text=True)
            lines = [line for line in shown.stdout.splitlines() if ", backward" in line]
            print("\n".join(lines[:3]), flush=True)
            row("inspect shows them", bool(lines), f"{len(lines)} launches of a backward pass")
        record = [str(prlx), "record", "--range", "step 1", "-o", f"{folder}/one", "--", *words, "operators"]
        if run(record):
            import prlx as package

            rows = list(package.read(f"{folder}/one").launches.rows())
            outside = [r for r in rows if r["skipped"] is None and "step 1" not in (r["ranges"] or "")]
            row("record --range 'step 1'", not outside and len(rows) > 0, f"{len(outside)} recorded outside of it")
    sys.exit(failed)


if __name__ == "__main__":
    main()
