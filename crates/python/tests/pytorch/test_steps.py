"""`prlx.torch.compare_steps`. `cargo xtask wheel --torch` runs these tests: they need PyTorch, and no GPU."""

import json
import random

import prlx
import pytest
import torch
from models import Net, planted

F = torch.nn.functional


@pytest.fixture
def step():
    torch.manual_seed(0)
    return Net(), (torch.randn(4, 7, 32), torch.randint(0, 5, (4,)))


def test_equal_setups_agree_and_nothing_is_left_behind(step):
    model, batch = step
    model(*batch).backward()
    before = [p.grad.clone() for p in model.parameters()]
    weights = [p.detach().clone() for p in model.parameters()]
    states = torch.get_rng_state(), random.getstate()

    def draws(model, *inputs):
        random.random()
        return model(*inputs)

    found = prlx.torch.compare_steps(model, batch, ["eager", "eager", draws])
    assert found.verdict == "same" and found.first is None
    assert all(row.relative == 0 for c in found.comparisons for row in c.rows)
    assert {row.phase for row in found.comparisons[0].rows} == {"forward", "backward"}
    assert torch.equal(states[0], torch.get_rng_state()) and states[1] == random.getstate()
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), before))
    assert all(torch.equal(p, w) for p, w in zip(model.parameters(), weights))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_module_with_another_output_is_the_first(step):
    def tanh(model, *inputs):
        with planted(model.blocks[2].act, "approximate", "tanh"):
            return model(*inputs)

    found = prlx.torch.compare_steps(*step, ["eager", tanh])
    first = found.first
    assert (first.phase, first.module, first.kind, first.what) == (
        "forward",
        "blocks.2.act",
        "GELU",
        "output",
    )
    assert first.operation == "aten.gelu" and 0 < first.wrong <= first.elements
    assert "blocks.2.act (GELU)" in str(found) and json.dumps(found.data)


def test_code_between_modules_is_its_caller(step):
    def shifted(model, *inputs):
        b = model.blocks[1]
        with planted(b, "forward", lambda x: x + b.drop(b.down(b.act(b.up(b.norm(x))).sub(0.01)))):
            return model(*inputs)

    first = prlx.torch.compare_steps(*step, ["eager", shifted]).first
    assert (first.module, first.what) == ("blocks.1", "the input of blocks.1.down")
    assert first.operation == "aten.addmm; before it, only shifted runs aten.sub"

    def scaled(model, *inputs):
        act = model.blocks[1].act
        with planted(act, "forward", lambda x: F.gelu(x) * 1.01):
            return model(*inputs)

    first = prlx.torch.compare_steps(*step, ["eager", scaled]).first
    assert (first.module, first.operation) == ("blocks.1.act", "only scaled runs aten.mul")


def test_a_wrong_backward_is_named(step):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 1.5

    def wrong(model, *inputs):
        act = model.blocks[1].act
        with planted(act, "forward", lambda x: Wrong.apply(F.gelu(x))):
            return model(*inputs)

    first = prlx.torch.compare_steps(*step, ["eager", wrong]).first
    assert (first.phase, first.module) == ("backward", "blocks.1.act")
    assert first.what == "gradient of its input, the output of blocks.1.up"


def test_a_wrong_gradient_of_a_parameter_is_named(step):
    def wrong(model, *inputs):
        loss = model(*inputs)
        weight = model.blocks[1].down.weight
        weight.register_hook(lambda gradient: gradient * 2)
        return loss

    model, batch = step
    first = prlx.torch.compare_steps(model, batch, ["eager", wrong]).first
    assert (first.phase, first.module, first.what) == ("backward", "blocks.1.down", "gradient of weight")


def test_autocast_has_its_own_tolerance(step):
    assert prlx.torch.compare_steps(*step, ["eager", "autocast"]).verdict == "same"
    tight = prlx.torch.compare_steps(*step, ["eager", "autocast"], rtol=1e-6)
    assert tight.first.module == "blocks.0.up" and tight.first.operation == "aten.addmm"


def test_compiled_code_is_seen_module_by_module(step):
    model, batch = step
    model.eval()
    found = prlx.torch.compare_steps(model, batch, ["eager", "compile"])
    assert found.verdict == "same", str(found)
    compared = {row.module for row in found.comparisons[0].rows if row.phase == "forward"}
    assert {"", "blocks.0.norm", "blocks.2.down", "head"} <= compared
    assert any(row.phase == "backward" for row in found.comparisons[0].rows)


def test_a_function_may_call_compiled_code(step):
    model, batch = step
    model.eval()

    def first_block(model, x, y):
        with planted(model.blocks[0], "forward", torch.compile(model.blocks[0].forward, backend="aot_eager")):
            return model(x, y)

    found = prlx.torch.compare_steps(model, batch, ["eager", first_block])
    assert found.verdict == "same", str(found)
    assert {"blocks.0.up", "blocks.1.up"} <= {row.module for row in found.comparisons[0].rows}


def test_inference_and_other_shapes_of_batches():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True))
    found = prlx.torch.compare_steps(model, torch.randn(2, 4), ["eager", "eager"])
    assert found.verdict == "same" and any("no loss" in note for note in found.comparisons[0].notes)
    found = prlx.torch.compare_steps(model, {"input": torch.randn(2, 4)}, ["eager", "eager"], loss=torch.sum)
    assert any(row.phase == "backward" for row in found.comparisons[0].rows)
    with torch.inference_mode():
        assert prlx.torch.compare_steps(model, torch.randn(2, 4), ["eager", "eager"]).verdict == "same"


def test_nan_and_shapes_differ(step, tmp_path):
    def nan(model, *inputs):
        with planted(model.head, "forward", lambda x: F.linear(x, model.head.weight) / 0 * 0):
            return model(*inputs)

    first = prlx.torch.compare_steps(*step, ["eager", nan]).first
    assert first.module == "head" and first.wrong == first.elements

    def longer(model, *inputs):
        with planted(model.head, "forward", lambda x: F.linear(x, model.head.weight.repeat(2, 1))):
            return model(*inputs)

    found = prlx.torch.compare_steps(*step, ["eager", longer])
    assert "shapes are" in found.first.what
    found.save(tmp_path / "steps.json")
    found.save(tmp_path / "steps.txt")
    assert json.loads((tmp_path / "steps.json").read_text()) == found.data
    assert (tmp_path / "steps.txt").read_text().startswith("differs  one step of Net")


def test_wrong_arguments_are_refused(step):
    model, batch = step
    with pytest.raises(ValueError, match="'fast' is not known"):
        prlx.torch.compare_steps(model, batch, ["eager", "fast"])
    with pytest.raises(ValueError, match="at least two"):
        prlx.torch.compare_steps(model, batch, ["eager"])
    with pytest.raises(TypeError, match="not a torch.nn.Module"):
        prlx.torch.compare_steps(lambda x: x, batch)
    with pytest.raises(ValueError, match="names no type"):
        prlx.torch.compare_steps(model, batch, ["eager", "autocast:half16"])


class Scaled(torch.autograd.Function):
    """The input, with a gradient that is 1.5 times what it should be."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 1.5


def test_small_gradients_of_float16_are_no_difference():
    # Gradients of parameters are sums over 4,096 rows of gradients that float16 hardly represents.
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
    x, to = torch.randn(2, 4096, 64)
    steps = lambda other, scale: prlx.torch.compare_steps(
        model, x, ["eager", other], loss=lambda y: scale * (y * to).sum()
    )
    found = steps("autocast:float16", 4e-7)
    assert found.verdict == "same", str(found)
    assert any("near the smallest numbers" in note for note in found.comparisons[0].notes)
    weight = next(r for r in found.comparisons[0].rows if (r.module, r.what) == ("0", "gradient of weight"))
    assert 0.1 < weight.relative < 1, "the type loses a part of it"

    def wrong(model, x):
        with torch.autocast("cpu", torch.float16):
            return model[1](Scaled.apply(model[0](x)))

    first = steps(wrong, 1e-5).first
    assert (first.module, first.what) == ("1", "gradient of its input, the output of 0")
    assert first.wrong > first.elements / 2
    clear = steps("autocast:float16", 1.0)
    assert clear.verdict == "same" and clear.comparisons[0].notes == []


def test_sparse_tensors():
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.mix = torch.nn.Embedding(9, 4, sparse=True), torch.nn.Identity()

        def forward(self, words, matrix):
            return (torch.sparse.mm(self.mix(matrix), self.words(words)) ** 2).sum()

    def wrong(model, words, matrix):
        model.words.weight.register_hook(lambda gradient: gradient * 2)
        return model(words, matrix)

    batch = (torch.randint(0, 9, (6,)), torch.eye(6).to_sparse())
    assert prlx.torch.compare_steps(Mixed(), batch, ["eager", "eager"]).verdict == "same"
    first = prlx.torch.compare_steps(Mixed(), batch, ["eager", wrong]).first
    assert (first.module, first.what, first.elements) == ("words", "gradient of weight", 36)


@pytest.mark.parametrize("setup", ["autocast", "autocast:float16", "compile"])
def test_a_gradient_whose_terms_cancel_is_no_difference(setup):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (torch.nn.Linear(32, 32) for _ in range(3))

        def forward(self, x):
            scores = self.q(x) @ self.k(x).transpose(-1, -2) / 32**0.5
            return scores.softmax(-1) @ self.v(x)

    torch.manual_seed(0)
    model = Attention()
    x, to = torch.randn(2, 8, 64, 32)
    loss = lambda y: (y * to).sum()
    found = prlx.torch.compare_steps(model, x, ["eager", setup], loss=loss)
    assert found.verdict == "same", str(found)
    bias = next(r for r in found.comparisons[0].rows if (r.module, r.what) == ("k", "gradient of bias"))
    assert bias.relative > 1 and bias.scale > 1e4 * bias.absolute / bias.relative

    def wrong(model, x):
        model.k.bias.register_hook(lambda gradient: gradient + 1.0)
        return model(x)

    first = prlx.torch.compare_steps(model, x, ["eager", wrong], loss=loss).first
    assert (first.module, first.what) == ("k", "gradient of bias")
