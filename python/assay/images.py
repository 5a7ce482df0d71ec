"""Images as a caller has them, and their form on the wire: `images` and `assets` of System One."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

# The file's bytes, its path, a data: URL, or base64 alone. PNG or JPEG; the server says what it refuses.
Image = Union[bytes, bytearray, memoryview, "os.PathLike[str]", str]

_KINDS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"))


def _base64_of(image: Image, where: str) -> str:
    """What stands behind the comma of a data: URL."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return base64.b64encode(image).decode("ascii")
    if isinstance(image, os.PathLike):
        with open(image, "rb") as file:
            return base64.b64encode(file.read()).decode("ascii")
    if not isinstance(image, str):
        raise TypeError(f"{where} must be bytes, a path, a data: URL or base64, not {type(image).__name__}")
    if image.startswith("data:") and "," in image:
        return image.partition(",")[2]
    if ":" in image or "." in image or "\\" in image:  # none of them is in base64
        raise ValueError(f"{where} is neither a data: URL nor base64: {image[:80]!r}; give a file as pathlib.Path, "
                         "and what lies elsewhere as its bytes")
    return image


def images_to_wire(images: Sequence[Image]) -> list[str]:
    """`images`: a list without names. Raises TypeError, ValueError or OSError."""
    if isinstance(images, (str, bytes, bytearray, memoryview, os.PathLike)):
        raise TypeError("images is one image; give a list of them")
    return [image if isinstance(image, str) and image.startswith("data:") else _base64_of(image, f"images[{index}]")
            for index, image in enumerate(images)]


def _format_of(data: str, where: str) -> str:
    head = base64.b64decode(data[:16] + "=" * (-len(data[:16]) % 4))
    for magic, kind in _KINDS:
        if head.startswith(magic):
            return kind
    raise ValueError(f"{where} is no PNG or JPEG file")


def assets_to_wire(assets: Mapping[str, Image]) -> dict[str, Any]:
    """`assets`: each under the reference by which the state or a question speaks of it. Raises as images_to_wire(),
    and where an image is no PNG or JPEG."""
    if not isinstance(assets, Mapping):
        raise TypeError("assets must be a dict of reference -> image")
    out: dict[str, Any] = {}
    for reference, image in assets.items():
        where = f"assets[{reference!r}]"
        data = _base64_of(image, where)
        out[reference] = {"type": "image", "format": _format_of(data, where), "data_base64": data}
    return out
