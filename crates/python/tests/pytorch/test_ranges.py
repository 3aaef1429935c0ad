"""NVTX ranges of modules. A list stands for NVTX, which PyTorch has on a GPU only."""

import threading

import pytest

torch = pytest.importorskip("torch")

import prlx  # noqa: E402
import prlx.torch  # noqa: E402
from prlx import _ranges  # noqa: E402


class Ranges:
    """Keeps the ranges around each operation of PyTorch, innermost last."""

    def __init__(self):
        self.thread = threading.local()
        self.started = {}
        self.names = []

    def stack(self):
        self.thread.__dict__.setdefault("stack", [])
        return self.thread.stack

    def range_push(self, name):
        self.names.append(name)
        self.stack().append(name)

    def range_pop(self):
        self.stack().pop()

    def range_start(self, name):
        self.started[len(self.started)] = name
        return len(self.started) - 1

    def range_end(self, number):
        del self.started[number]


@pytest.fixture
def ranges(monkeypatch):
    ranges = Ranges()
    monkeypatch.setattr(_ranges, "nvtx", lambda: ranges)
    return ranges


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.drop = torch.nn.Dropout(0.3)

    def forward(self, x):
        return x * 2 + self.drop(self.down(torch.relu(self.up(x * 3))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.sin()


def train(annotated, steps=2):
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    annotation = prlx.torch.annotate(model) if annotated else None
    losses = []
    for _ in range(steps):
        with prlx.torch.step():
            optimizer.zero_grad()
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    if annotation:
        annotation.remove()
    return losses, [p.detach().clone() for p in model.parameters()], torch.get_rng_state()


def test_ranges_name_modules_forward_and_backward(ranges):
    train(True, 1)
    assert ranges.stack() == [] and ranges.started == {}
    forward = [n.removesuffix(", forward") for n in ranges.names if n.endswith(", forward")]
    block = ["blocks.{0}", "blocks.{0}.up", "blocks.{0}.down", "blocks.{0}.drop"]
    assert forward == ["Model", *(name.format(i) for i in (0, 1) for name in block)]
    backward = [n.removesuffix(", backward") for n in ranges.names if n.endswith(", backward")]
    order = list(dict.fromkeys(backward))
    assert order[0] == "Model", "the sine is the model's own operation"
    assert order.index("blocks.1.down") < order.index("blocks.1.up") < order.index("blocks.0.up")
    assert {f"blocks.{i}" + part for i in (0, 1) for part in ("", ".up", ".down", ".drop")} < set(order)


def test_operations_lie_in_the_range_of_their_module(ranges):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = {}

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            inside = [*ranges.started.values(), *ranges.stack()]
            seen.setdefault(function.overloadpacket.__name__, []).append(inside)
            return function(*args, **(kwargs or {}))

    model = Model().eval()
    with prlx.torch.annotate(model), Operations(), prlx.pytorch_trace("train"):
        model(torch.randn(4, 8)).sum().backward()
    assert seen["addmm"][0] == ["train", "Model, forward", "blocks.0, forward", "blocks.0.up, forward"]
    assert seen["relu"][1] == ["train", "Model, forward", "blocks.1, forward"]
    assert seen["threshold_backward"][0] == ["train", "blocks.1, backward"]
    assert seen["cos"] == [["train", "Model, backward"]]
    assert {names[-1] for names in seen["mm"]} == {
        f"blocks.{i}.{part}, backward" for i in (0, 1) for part in ("up", "down")
    }


def test_ranges_change_nothing(ranges):
    plain, annotated = train(False), train(True)
    assert plain[0] == annotated[0]
    assert all(torch.equal(a, b) for a, b in zip(plain[1], annotated[1]))
    assert torch.equal(plain[2], annotated[2])


def test_an_exception_leaves_no_range(ranges):
    model = Model()
    with prlx.torch.annotate(model):
        with pytest.raises(RuntimeError):
            model(torch.randn(4, 7))
        assert ranges.stack() == []


def test_compiled_code_is_left_alone(ranges):
    model, x = Model().eval(), torch.randn(4, 8)
    want = model(x)
    with prlx.torch.annotate(model):
        got = torch.compile(model, backend="aot_eager", fullgraph=True)(x)
    assert torch.equal(want, got) and not ranges.names
    compiled = torch.compile(model, backend="aot_eager")
    with prlx.torch.annotate(compiled):
        compiled(x).sum().backward()
    assert ranges.names[0] == "OptimizedModule, forward" and ranges.stack() == []


def test_steps_are_counted(ranges, monkeypatch):
    monkeypatch.setattr(_ranges, "_steps", 0)
    names = []
    for _ in range(3):
        with prlx.torch.step() as step:
            names.append((step.name, *ranges.started.values()))
    assert names == [(f"step {i}", f"step {i}") for i in range(3)]


def test_without_a_gpu_nothing_happens():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    model = Model()
    with prlx.torch.annotate(model), prlx.torch.step():
        model(torch.randn(4, 8))
    assert not model._forward_hooks
    with pytest.raises(TypeError, match="not a torch.nn.Module"):
        prlx.torch.annotate(3)
