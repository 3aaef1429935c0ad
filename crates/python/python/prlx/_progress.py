"""Progress of long calls: one line on a terminal, nothing elsewhere. Warnings are Python warnings."""

import sys
import warnings


def callback():
    """A function that native calls report to."""
    state = {"shown": False}

    def report(kind, text):
        if kind == "warning":
            warnings.warn(text, stacklevel=4)
        elif not sys.stderr.isatty():
            return
        elif kind == "begin":
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            state["shown"] = True
        elif kind == "end" and state["shown"]:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            state["shown"] = False

    return report
