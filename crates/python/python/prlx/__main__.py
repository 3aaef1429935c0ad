"""`python -m prlx`: the command `prlx`."""

from ._command import main

main()
