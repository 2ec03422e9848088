#!/usr/bin/env python3
"""check_predictions.py: scores, probabilities and classes that tandem predict wrote agree."""
import math
import re
import struct


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    header = data[10 : 10 + length].decode()
    kind = {"<f4": "f", "<i8": "q"}[re.search(r"'descr': '([^']*)'", header).group(1)]
    values = data[10 + length :]
    return struct.unpack(f"<{len(values) // struct.calcsize(kind)}{kind}", values)


def rows(values, n=10):
    return [values[i : i + n] for i in range(0, len(values), n)]


scores, probabilities, of_floats = (rows(read(f)) for f in ("y.npy", "p.npy", "f.npy"))
classes = read("c.npy")
assert len(scores) == len(probabilities) == len(classes) == len(of_floats) == 5
for s, p, c, f in zip(scores, probabilities, classes, of_floats):
    top = max(s)
    total = sum(math.exp(v - top) for v in s)
    for v, q in zip(s, p):
        assert abs(math.exp(v - top) / total - q) < 1e-5
    assert c == s.index(top)
    # Bytes and numbers from 0 to 1 are the same images.
    assert all(abs(a - b) < 1e-3 * (1 + abs(a)) for a, b in zip(s, f))
