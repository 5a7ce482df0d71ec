"""Where the program is."""

from __future__ import annotations

import os
import sys

MISSING = ("no assay program: this package was installed without it; install the wheel, "
           "or name the program in the environment variable ASSAY_BINARY")


def _candidates() -> list[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here]
    package = sys.modules.get(__package__ or "")
    folders += [os.path.abspath(folder) for folder in getattr(package, "__path__", [])]  # an editable install has two
    out = [os.path.join(folder, "bin", "assay") for folder in folders]
    # A checkout: python/assay beside build/release.
    out.append(os.path.join(os.path.dirname(os.path.dirname(here)), "build", "release", "assay"))
    return out


def binary() -> str:
    """The program's path: ASSAY_BINARY if that is set, else the one that came with this package.

    Raises FileNotFoundError when there is none.
    """
    named = os.environ.get("ASSAY_BINARY")
    for path in [named] if named else _candidates():
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise FileNotFoundError(f"ASSAY_BINARY is no program: {named}" if named else MISSING)


def main() -> None:
    """The command `assay`: becomes the program, with the same process id, so that signals reach it."""
    try:
        path = binary()
    except FileNotFoundError as error:
        sys.exit(f"assay: {error}")
    os.execv(path, ["assay", *sys.argv[1:]])
