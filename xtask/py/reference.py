"""Runs the reference.py of each folder and puts the .npy files it writes there: reference.py [--check] DIR...

Prints the files that must change: with --check those that differ, always those that no reference.py writes.
A file that agrees with the new one up to the last digits of its floats stays as it is.
"""

import os
import runpy
import shutil
import sys
import tempfile

import numpy as np

BIGGEST = 64 * 1024


def same(a, b):
    """Whether two arrays are one: exact for integers, close for floats."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "f":
        eps = 8 * np.finfo(a.dtype).eps
        return np.allclose(a, b, rtol=eps, atol=eps * (np.nanmax(np.abs(a), initial=0) or 0), equal_nan=True)
    return np.array_equal(a, b)


def run(folder, check):
    """Names of the files of one folder that are not right."""
    stale = []
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            with np.errstate(all="ignore"):
                runpy.run_path(os.path.join(home, folder, "reference.py"), run_name="__main__")
        finally:
            os.chdir(home)
        made = sorted(f for f in os.listdir(scratch) if f.endswith(".npy"))
        for name in made:
            new, old = os.path.join(scratch, name), os.path.join(folder, name)
            if os.path.getsize(new) > BIGGEST + 256:
                raise SystemExit(f"{old} would have {os.path.getsize(new)} bytes: keep files below 64 KiB")
            if not (os.path.exists(old) and same(np.load(old), np.load(new))):
                stale.append(old)
                if not check:
                    shutil.copyfile(new, old)
    orphans = [f for f in os.listdir(folder) if f.endswith(".npy") and f not in made]
    return (stale if check else []) + [f"{folder}/{f} (nothing makes it)" for f in orphans]


def main():
    words = sys.argv[1:]
    check = "--check" in words
    failed = False
    for folder in (w for w in words if w != "--check"):
        try:
            for line in run(folder, check):
                print(line)
        except Exception as error:  # the other folders are still worth running
            print(f"{folder}/reference.py: {type(error).__name__}: {error}", file=sys.stderr)
            failed = True
    sys.exit(failed)


main()
