"""`python -m assay`: the command `assay`."""

from .program import main

if __name__ == "__main__":
    main()
