"""`python -m prlx`: the command `prlx`."""

from ._command import main

if __name__ == "__main__":
    main()
