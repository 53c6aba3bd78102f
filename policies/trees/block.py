"""Arrays of kernels, side by side in one block of memory."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from milpcb.types import Bools

# Contexts of a block: the rows of two and four literals then fit the first-level cache.
BLOCK = 512
LANES = 32  # contexts of a block come in such groups
_PAGE, _LINE = 4096, 64  # bytes


def zeros(dtype: type[np.floating[Any]], **shapes: tuple[int, ...]) -> dict[str, npt.NDArray[Any]]:
    """Return an array of zeros for each of ``shapes``, all in one block that begins with a page of memory.

    A pass that reads one array and writes another takes up to 1.6 times as long where their addresses happen to agree
    in the last 12 bits. Here they differ by what the shapes make them differ, in every process alike. A line of the
    cache lies free between two arrays.
    """
    sizes = [prod(shape) * np.dtype(dtype).itemsize for shape in shapes.values()]
    places = np.cumsum([0, *(-(-size // _LINE) * _LINE + _LINE for size in sizes)])
    block = np.zeros(places[-1] + _PAGE, np.uint8)
    block = block[-block.ctypes.data % _PAGE :]
    return {
        name: block[place : place + size].view(dtype).reshape(shape)
        for (name, shape), place, size in zip(shapes.items(), places, sizes, strict=False)
    }


def in_blocks(truth: Bools) -> Bools:
    """Return (blocks, p + 4, B): literals (g, p) on the contexts of each block, and behind them one that always holds.

    What is over is False.
    """
    g, p = truth.shape
    blocks = max(1, -(-g // BLOCK))
    width = -(-g // (blocks * LANES)) * LANES
    held = np.zeros((p + 4, blocks * width), bool)
    held[:p, :g], held[p, :g] = truth.T, True
    return held.reshape(p + 4, blocks, width).transpose(1, 0, 2)
