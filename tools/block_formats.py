"""The low-bit block formats of GGUF in numpy: pack, unpack, random blocks.

A row of a matrix is cut into groups; each group is one block: an fp16 scale d, then packed codes.

Q1_0       128 weights, 18 bytes. Weight j is bit j % 8 of byte j // 8: set is +d, clear is -d.
Q2_0        64 weights, 18 bytes. Weight j is bits 2 * (j % 4) of byte j // 4: (code - 1) * d.
Q2_0_G128  128 weights, 34 bytes. As Q2_0, with one scale to 128 weights.
"""
from dataclasses import dataclass
from typing import Iterator

import numpy as np

BLOCKS_PER_CHUNK = 1 << 19  # 9 to 18 MB packed; some 100 MB with the temporaries


@dataclass(frozen=True)
class BlockFormat:
    name: str
    type_id: int    # in a GGUF tensor description
    file_type: int  # value of general.file_type
    group: int      # weights in a block
    bits: int       # bits of a code

    @property
    def dtype(self) -> np.dtype:
        return np.dtype([("d", "<f2"), ("codes", "u1", self.group * self.bits // 8)])

    @property
    def block_bytes(self) -> int:
        return self.dtype.itemsize

    def n_blocks(self, rows: int, cols: int) -> int:
        if cols % self.group:
            raise ValueError(f"{self.name}: rows of {cols} weights are not whole groups of {self.group}")
        return rows * cols // self.group

    def n_bytes(self, rows: int, cols: int) -> int:
        return self.n_blocks(rows, cols) * self.block_bytes


Q1_0 = BlockFormat("Q1_0", type_id=41, file_type=40, group=128, bits=1)
Q2_0 = BlockFormat("Q2_0", type_id=42, file_type=41, group=64, bits=2)
Q2_0_G128 = BlockFormat("Q2_0_G128", type_id=142, file_type=41, group=128, bits=2)
FORMATS = {f.name: f for f in (Q1_0, Q2_0, Q2_0_G128)}


def _pack_codes(codes: np.ndarray, fmt: BlockFormat) -> np.ndarray:
    """codes [n_blocks][group] -> bytes [n_blocks][group * bits / 8], lowest bits first."""
    if fmt.bits == 1:
        return np.packbits(codes, axis=-1, bitorder="little")
    quads = codes.reshape(len(codes), -1, 4)
    return quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6


def _unpack_codes(packed: np.ndarray, fmt: BlockFormat) -> np.ndarray:
    if fmt.bits == 1:
        return np.unpackbits(packed, axis=-1, bitorder="little")
    quads = packed[..., None] >> np.array([0, 2, 4, 6], np.uint8) & 3
    return quads.reshape(len(packed), -1)


def pack(weights: np.ndarray, fmt: BlockFormat) -> bytes:
    """Quantise float32 weights [rows][cols], round to nearest.

    1 bit: d is the mean of |w|, the sign of a zero is +. 2 bits: d is the largest |w|; code 3 (+2d) does not occur.
    """
    rows, cols = weights.shape
    groups = weights.reshape(fmt.n_blocks(rows, cols), fmt.group)
    blocks = np.empty(len(groups), fmt.dtype)
    if fmt.bits == 1:
        blocks["d"] = np.abs(groups).mean(-1)
        codes = (groups >= 0).astype(np.uint8)
    else:
        blocks["d"] = np.abs(groups).max(-1)
        d = blocks["d"].astype(np.float32)
        d[d == 0] = 1
        codes = (np.clip(np.rint(groups / d[:, None]), -1, 1) + 1).astype(np.uint8)
    blocks["codes"] = _pack_codes(codes, fmt)
    return blocks.tobytes()


def unpack(data: bytes, rows: int, cols: int, fmt: BlockFormat) -> np.ndarray:
    """The float32 weights [rows][cols] that the blocks stand for."""
    blocks = np.frombuffer(data, fmt.dtype, fmt.n_blocks(rows, cols))
    codes = _unpack_codes(blocks["codes"], fmt).astype(np.float32)
    signed = 2 * codes - 1 if fmt.bits == 1 else codes - 1
    return (signed * blocks["d"].astype(np.float32)[:, None]).reshape(rows, cols)


def _random_codes(rng: np.random.Generator, n_blocks: int, fmt: BlockFormat) -> np.ndarray:
    packed = rng.integers(0, 256, size=(n_blocks, fmt.group * fmt.bits // 8), dtype=np.uint8)
    if fmt.bits == 2:  # ternary models have no code 3: make it 1, which is the weight 0
        is_three = packed & packed >> 1 & 0x55
        packed &= ~(is_three << 1)
    return packed


def random_chunks(rng: np.random.Generator, rows: int, cols: int, fmt: BlockFormat) -> Iterator[bytes]:
    """Blocks of a random matrix, BLOCKS_PER_CHUNK at a time.

    Scales are 0.75 to 1.25 of 1 / sqrt(cols), so that a product keeps the size of its input.
    """
    remaining = fmt.n_blocks(rows, cols)
    while remaining > 0:
        n = min(remaining, BLOCKS_PER_CHUNK)
        blocks = np.empty(n, fmt.dtype)
        blocks["d"] = (0.75 + 0.5 * rng.random(n, dtype=np.float32)) / np.float32(np.sqrt(cols))
        blocks["codes"] = _random_codes(rng, n, fmt)
        yield blocks.tobytes()
        remaining -= n
