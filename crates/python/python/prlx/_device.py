"""The CPU device as a context: inside of it, launches of Triton, Numba and :class:`prlx.Kernel` run without a
GPU, on the memory of NumPy arrays and CPU tensors.

Invariants: contexts nest; the innermost one runs a launch. A launch is complete when the call returns.

Limitations: the context is one for all threads, and launches of several threads run one after the other.
Pointers inside of memory, as in a list of addresses, mean nothing on the CPU device.
"""

import sys
import threading

from . import _native, _arrays
from ._findings import CheckError, Findings

_stack = []
_lock = threading.RLock()


def current():
    """The innermost CPU device, or ``None`` outside of every ``with prlx.cpu()``."""
    return _stack[-1] if _stack else None


class cpu:
    """Runs kernel launches on the CPU device.

    arch: the GPU to compile for, as ``"sm_90"``.
    check: ``"all"``, or names of checks with commas (``"race,bounds"``; see ``prlx run --help``).
    seed: the schedule. Seed 0 runs warps in order; every other seed interleaves them differently.
    seeds: run every launch under all of these schedules (as ``range(20)``) and compare what they leave.
    collect: keep errors that checks find in ``findings`` instead of raising :class:`prlx.CheckError`.
    max_steps: instructions that one CTA may execute before it counts as stuck.
    max_memory: bytes of arrays and of what checks note.
    threads: threads of the host that run CTAs under seed 0; by default all, where their order cannot matter.
    stdout: where text that kernels print goes; by default ``sys.stdout``.

    After the block, ``findings`` has the findings of all launches, ``launches`` their number and
    ``warp_instructions`` what they executed.

    >>> import prlx
    >>> with prlx.cpu(check="all", collect=True) as device:
    ...     pass
    >>> device.findings
    []
    """

    def __init__(
        self,
        arch="sm_90",
        *,
        check=None,
        seed=0,
        seeds=None,
        collect=False,
        max_steps=None,
        max_memory=None,
        threads=None,
        stdout=None,
    ):
        self.arch = _architecture(arch)
        self.check = ",".join(check) if isinstance(check, (list, tuple, set)) else check
        self.seed = seed
        self.seeds = None if seeds is None else list(seeds)
        self.collect = collect
        self.stdout = stdout
        self.findings = []
        # The same by launch: a `Findings` for each launch with some.
        self.reports = []
        self.launches = 0
        self.warp_instructions = 0
        # Called with every launch before it runs.
        self.before_launch = None
        self._native = _native.Device(
            check=self.check, max_steps=max_steps, max_memory=max_memory, threads=threads
        )
        if self.seeds is not None and not self.seeds:
            raise ValueError("seeds: name at least one schedule")

    def __enter__(self):
        from . import _integrations

        with _lock:
            _stack.append(self)
            _integrations.enable()
        return self

    def __exit__(self, *_):
        from . import _integrations

        with _lock:
            _stack.remove(self)
            if not _stack:
                _integrations.disable()

    def run(self, launch, kernel):
        """Runs a launch; reports call its kernel ``kernel``."""
        with _lock:
            if self.before_launch is not None:
                self.before_launch(launch, kernel)
            self.launches += 1
            if self.seeds is None:
                return self._run(launch, kernel, self.seed)
            return self._run_seeds(launch, kernel)

    def _run(self, launch, kernel, seed):
        run = self._native.run(launch.native, seed)
        self.warp_instructions += run.warp_instructions
        if run.printed:
            print(run.printed, end="", file=self.stdout or sys.stdout)
        if run.printed_limit:
            print(f"prlx: {run.printed_limit}", file=sys.stderr)
        found = Findings(run, kernel) if self.check else []
        if found:
            self.findings.extend(found)
            self.reports.append(found)
        # A fault stops the kernel; an error that a check found before may be its cause.
        if found and found.errors and not self.collect:
            raise CheckError(found)
        run.raise_fault()
        return run

    def _run_seeds(self, launch, kernel):
        before = launch.save()
        first = None
        for seed in self.seeds:
            launch.restore(before)
            run = self._run(launch, kernel, seed)
            after = launch.save()
            if first is None:
                first = (seed, after)
            elif after != first[1]:
                changed = launch.changed(first[1], after)
                raise ScheduleError(kernel, first[0], seed, changed)
        return run


class ScheduleError(_native.Error):
    """Two schedules of one launch leave different results."""

    def __init__(self, kernel, a, b, arrays):
        super().__init__(
            f"{kernel} leaves other results under seed {b} than under seed {a}, in {', '.join(arrays)}\n"
            f'help: prlx.cpu(check="all") says whether it is a race'
        )
        self.seeds = (a, b)
        self.arrays = arrays


class Launch:
    """A launch of a kernel on arrays: what the integrations make of a call."""

    def __init__(self, module, kernel, grid, block, arguments, *, cluster=(1, 1, 1), shared=0, contract=True):
        # Objects that own memory, by the names of the arguments.
        self.owners = [owner for _, owner in arguments if owner is not None]
        natives = [native for native, _ in arguments]
        self.arrays = [
            getattr(n, "array", n) for n in natives if isinstance(n, (_native.Array, _native.TensorMap))
        ]
        self.kernel = kernel
        self.native = _native.Launch(
            module, kernel, grid, block, cluster, shared, natives, self.owners, contract
        )

    def snapshot(self, name, seed):
        """The launch with what its arrays hold now."""
        return self.native.snapshot(_arrays.content, name, seed)

    def save(self):
        """What the memory of all arrays holds, by its address and size."""
        return {memory: _arrays.content(*memory) for memory in {a.memory for a in self.arrays}}

    def restore(self, saved):
        """Puts back what :meth:`save` returned."""
        for (address, _), content in saved.items():
            _arrays.put(address, content)

    def changed(self, a, b):
        """Names of the arrays whose memory differs between two results of :meth:`save`."""
        return list(dict.fromkeys(x.name for x in self.arrays if a[x.memory] != b[x.memory]))


def dim(size):
    """The three sizes of a grid or a CTA, given as a number or as up to three."""
    size = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    return (*map(int, size), 1, 1, 1)[:3]


def _architecture(arch):
    """The number in ``"sm_90"``, ``"sm_90a"`` or ``90``."""
    digits = str(arch).removeprefix("sm_").rstrip("af")
    if not digits.isdigit():
        raise ValueError(f"arch: {arch!r} is no architecture, as 'sm_90'")
    return int(digits)
