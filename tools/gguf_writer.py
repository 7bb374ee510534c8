"""Write GGUF version 3 files: metadata first, then tensors streamed in chunks.

File layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
import enum
import struct
import sys
from typing import Callable, Iterable, NamedTuple, Sequence


class ValueType(enum.IntEnum):
    """Types of metadata values, by their number in the file."""

    U8 = 0
    I8 = 1
    U16 = 2
    I16 = 3
    U32 = 4
    I32 = 5
    F32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    U64 = 10
    I64 = 11
    F64 = 12


GGUF_F32 = 0  # tensor type id of plain float32

_STRUCT_FORMATS = {
    ValueType.U8: "<B", ValueType.I8: "<b", ValueType.U16: "<H", ValueType.I16: "<h",
    ValueType.U32: "<I", ValueType.I32: "<i", ValueType.F32: "<f", ValueType.BOOL: "<?",
    ValueType.U64: "<Q", ValueType.I64: "<q", ValueType.F64: "<d",
}


class _Tensor(NamedTuple):
    name: str
    dims: Sequence[int]
    type_id: int
    n_bytes: int
    chunks: Callable[[], Iterable[bytes]]


def _encode_string(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _encode_value(kind: ValueType, value) -> bytes:
    if kind == ValueType.STRING:
        return _encode_string(value)
    return struct.pack(_STRUCT_FORMATS[kind], value)


def _padding(n_bytes: int, alignment: int) -> bytes:
    return b"\0" * (-n_bytes % alignment)


class GgufWriter:
    """Collects metadata and tensor descriptions; write() produces the file.

    Tensor data is asked for only while writing, one chunk at a time, so the size of a file is not
    bounded by memory.
    """

    def __init__(self, alignment: int = 32):
        self._alignment = alignment
        self._metadata = []  # encoded key-value pairs
        self._tensors = []

    def add(self, key: str, kind: ValueType, value) -> None:
        self._metadata.append(_encode_string(key) + struct.pack("<I", kind) + _encode_value(kind, value))

    def add_array(self, key: str, kind: ValueType, values: Sequence) -> None:
        head = struct.pack("<IIQ", ValueType.ARRAY, kind, len(values))
        self._metadata.append(_encode_string(key) + head + b"".join(_encode_value(kind, v) for v in values))

    def add_tensor(self, name: str, dims: Sequence[int], type_id: int, n_bytes: int,
                   chunks: Callable[[], Iterable[bytes]]) -> None:
        """dims: fastest first, so a matrix of [rows][cols] is (cols, rows). chunks(): n_bytes in all."""
        self._tensors.append(_Tensor(name, tuple(dims), type_id, n_bytes, chunks))

    def _header(self) -> bytes:
        parts = [struct.pack("<4sIQQ", b"GGUF", 3, len(self._tensors), len(self._metadata)), *self._metadata]
        offset = 0
        for t in self._tensors:
            parts.append(_encode_string(t.name))
            parts.append(struct.pack(f"<I{len(t.dims)}QIQ", len(t.dims), *t.dims, t.type_id, offset))
            offset += t.n_bytes + len(_padding(t.n_bytes, self._alignment))
        header = b"".join(parts)
        return header + _padding(len(header), self._alignment)

    def write(self, path: str, progress: "Progress | None" = None) -> int:
        """Write the file; returns its size in bytes. Raises ValueError if a tensor's data has the wrong size."""
        header = self._header()
        total = len(header) + sum(t.n_bytes + len(_padding(t.n_bytes, self._alignment)) for t in self._tensors)
        with open(path, "wb") as f:
            f.write(header)
            for t in self._tensors:
                written = 0
                for chunk in t.chunks():
                    f.write(chunk)
                    written += len(chunk)
                    if progress:
                        progress.update(f.tell(), total)
                if written != t.n_bytes:
                    raise ValueError(f"{t.name}: {written} bytes of data, expected {t.n_bytes}")
                f.write(_padding(written, self._alignment))
        if progress:
            progress.update(total, total)
        return total


class Progress:
    """One line on stderr, rewritten at each whole percent; only line ends where stderr is not a terminal."""

    def __init__(self, label: str):
        self._label = label
        self._percent = -1

    def update(self, done_bytes: int, total_bytes: int) -> None:
        percent = 100 * done_bytes // total_bytes
        if percent == self._percent:
            return
        self._percent = percent
        interactive = sys.stderr.isatty()
        if interactive or percent == 100:
            line = f"{self._label}: {percent:3d}% of {total_bytes / 1e6:.0f} MB"
            print(f"\r{line}" if interactive else line, end="" if percent < 100 else "\n",
                  file=sys.stderr, flush=True)
