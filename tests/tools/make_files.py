#!/usr/bin/env python3
"""make_files.py FOLDER: small files of every kind for tandem_test.sh, written without any library."""
import gzip
import json
import random
import struct
import sys
import zipfile
import zlib
from pathlib import Path

folder = Path(sys.argv[1])


def npy(dtype, shape, data):
    text = str({"descr": dtype, "fortran_order": False, "shape": tuple(shape)}).encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def put(name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def put_zip(name, files):
    with zipfile.ZipFile(folder / name, "w") as z:
        for file, data in files.items():
            z.writestr(file, data)


def png(size, color):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(color) * size) * size
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


floats = struct.pack("<6f", *range(6))
x = npy("<f4", (2, 3), floats)
put("x.npy", x)
put("cut.npy", x[:-5])
put("nan.npy", npy("<f4", (3,), struct.pack("<3f", 1, float("nan"), 2)))
put("scalar.npy", npy("<f4", (), struct.pack("<f", 1)))
put("none.npy", npy("|u1", (0, 1, 28, 28), b""))
put("t5.npy", npy("|u1", (1, 1, 1, 2, 2), b"1234"))
put_zip("t.npz", {"a.npy": x, "b.npy": npy("<i8", (2,), struct.pack("<2q", 1, 2))})
header = json.dumps(
    {
        "__metadata__": {"format": "pt"},
        "conv.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "conv.bias": {"dtype": "U8", "shape": [3], "data_offsets": [24, 27]},
    },
    separators=(",", ":"),
).encode()
tensors = struct.pack("<Q", len(header)) + header + floats + b"\1\2\3"
put("t.safetensors", tensors)
put("cut.safetensors", tensors[:-1])
idx = b"\0\0\x08\x03" + struct.pack(">3I", 2, 2, 2) + bytes(8)
put("t-idx3-ubyte", idx)
put("t-idx3-ubyte.gz", gzip.compress(idx))
put_zip("net.pt", {"net/data.pkl": b"x", "net/version": b"3"})
put("g.txt", b"# a small graph\ngraph(%0)\n%0 = input \"x\" : float32 [2]\n%1 = neg(%0) : float32 [2]\nreturn %1\n# the end\n ")
put("graph.txt", b"graph(%0)\n%0 = input : float32 [2]\n%1 = ngative(%0) : float32 [2]\nreturn %1\n")
put("note.txt", b"hello\n")
put("empty", b"")

random.seed(1)
digits = bytes(random.randrange(256) for _ in range(5 * 784))
put("digits.npy", npy("|u1", (5, 1, 28, 28), digits))
put("digits_float.npy", npy("<f4", (5, 1, 28, 28), struct.pack(f"<{len(digits)}f", *(d / 255 for d in digits))))
images = bytes(random.randrange(256) for _ in range(600 * 784))
put_zip(
    "t.data.npz",
    {
        "x_train.npy": npy("|u1", (600, 28, 28), images),
        "y_train.npy": npy("<i8", (600,), struct.pack("<600q", *(i % 10 for i in range(600)))),
    },
)
put_zip(
    "many.npz",
    {f"{x}_{part}.npy": data for part in ("train", "test") for x, data in (
        ("x", npy("|u1", (4, 3, 8, 8), bytes(4 * 3 * 64))),
        ("y", npy("|u1", (4,), b"\0\1\2\3")))},
)
put_zip("nothing.npz", {"a.npy": x})
for name, color in {"red": (200, 20, 30), "green": (10, 190, 40)}.items():
    for i in range(10):
        put(f"photos/{name}/{i}.png", png(16, [min(255, c + i) for c in color]))
