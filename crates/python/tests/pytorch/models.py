"""A small transformer without attention, and faults for it."""

import contextlib

import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.act = torch.nn.GELU()
        self.down = torch.nn.Linear(4 * width, width)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(self.act(self.up(self.norm(x)))))


class Net(torch.nn.Module):
    """Returns the loss."""

    def __init__(self, width=32, blocks=3):
        super().__init__()
        self.places = torch.nn.Parameter(0.1 * torch.randn(7, width))
        self.blocks = torch.nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = torch.nn.Linear(width, 5)

    def forward(self, x, y):
        x = x + self.places
        for block in self.blocks:
            x = block(x)
        return torch.nn.functional.cross_entropy(self.head(x).mean(1), y)


@contextlib.contextmanager
def planted(owner, name, value):
    """Replaces an attribute for a while."""
    before = getattr(owner, name)
    own = name in vars(owner)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)
