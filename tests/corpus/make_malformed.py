#!/usr/bin/env python3
"""make_malformed.py FOLDER: writes files that are not what their names say, and a list of them.

Each line of FOLDER/list.txt is the name of a file, a tab, and a piece of the message that must refuse it.
The good files that the bad ones are made from are listed too, with the message "ok".
"""
import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
lines = []


def put(name, data, message):
    (folder / name).write_bytes(data)
    lines.append(f"{name}\t{message}")


# -- safetensors ------------------------------------------------------------------------------------

FLOATS = struct.pack("<6f", *range(6))
BYTES = b"\x01\x02\x03"


def entry(dtype="F32", shape=(2, 3), offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def safetensors(header, data=FLOATS + BYTES, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


GOOD = {"a": entry(), "b": entry("U8", (3,), (24, 27))}
good = safetensors(GOOD)


def st(name, message, header=None, **change):
    """A file whose header is GOOD with some keys changed, or a header of its own."""
    h = dict(GOOD) if header is None else header
    if header is None:
        h.update(change)
    put(f"st_{name}.safetensors", safetensors(h), message)


put("good.safetensors", good, "ok")
put("st_empty.safetensors", b"", "too few")
for n in (1, 7):
    put(f"st_cut_{n}.safetensors", good[:n], "too few")
for n in (8, 9, 40):
    put(f"st_cut_{n}.safetensors", good[:n], "does not fit a file")
put("st_cut_last.safetensors", good[:-1], "lies outside of the file")
put("st_one_more.safetensors", good + b"\0", "but the file has")
put("st_no_data.safetensors", safetensors(GOOD, b""), "lies outside of the file")
put("st_length_huge.safetensors", safetensors(GOOD, length=2**64 - 1), "does not fit a file")
put("st_length_sign.safetensors", safetensors(GOOD, length=2**63), "does not fit a file")
put("st_length_short.safetensors", safetensors(GOOD, length=10), "byte ")
put("st_length_zero.safetensors", safetensors(GOOD, length=0), "not a JSON object")
st("not_json", "not a JSON object", b"hello")
st("array", "not a JSON object", b"[]")
st("number", "not a JSON object", b"17")
st("unclosed", "expected", b'{"a": {')
st("trailing", "something follows", json.dumps(GOOD).encode() + b"x")
st("no_quotes", "expected a key", b"{a: 1}")
st("two_colons", "expected", b'{"a":: 1}')
st("comma_at_end", "expected a key", b'{"a": {"dtype":"F32","shape":[0],"data_offsets":[0,0]},}')
st("control_character", "control character", b'{"a\n": {}}')
st("bad_utf8", "not UTF-8", b'{"\xff": {}}')
st("bad_escape", "unknown escape", b'{"\\q": {}}')
st("half_surrogate", "surrogate", b'{"\\ud800": {}}')
st("nested_deep", "expected an object", b'{"a":' + b"[" * 100000)
st("deep_objects", "expected a string", b'{"__metadata__":{"a":' + b'{"a":' * 50000)
put(
    "st_name_twice.safetensors",
    safetensors(b'{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"a":{"dtype":"F32","shape":[6],"data_offsets":[3,27]}}'),
    "appears twice",
)
put(
    "st_key_twice.safetensors",
    safetensors(b'{"a":{"dtype":"U8","dtype":"U8","shape":[27],"data_offsets":[0,27]}}'),
    "dtype appears twice",
)
st("entry_number", "expected an object", a=5)
st("entry_null", "expected an object", a=None)
st("entry_empty", "has no dtype", a={})
st("no_shape", "has no shape", a={"dtype": "F32", "data_offsets": [0, 24]})
st("no_offsets", "has no data_offsets", a={"dtype": "F32", "shape": [2, 3]})
st("unknown_key", "unknown key", a=dict(entry(), device="cpu"))
st("dtype_unknown", "is not supported", a=entry("F31"))
st("dtype_complex", "is not supported", a=entry("C64", (3,)))
st("dtype_number", "expected a string", a=entry(4))
st("shape_number", "expected an array", a=dict(entry(), shape=6))
st("shape_text", "expected a number", a=entry(shape=("2", "3")))
st("shape_negative", "negative extent", a=entry(shape=(-2, -3)))
st("shape_fraction", "not a whole number", a=entry(shape=(2.5, 3)))
st("shape_huge", "does not fit 64 bits", a=entry(shape=(2**64, 3)))
st("shape_overflow", "too large", a=entry(shape=(2**40, 2**40)))
st("shape_overflow_zero", "too large", a=entry(shape=(2**40, 2**40, 0), offsets=(0, 0)))
st("shape_wrong", "bytes for", a=entry(shape=(2, 4)))
st("shape_wraps", "too large", a=entry(shape=(2**62, 4)))
st("offsets_one", "has 1 numbers", a=entry(offsets=(24,)))
st("offsets_three", "has 3 numbers", a=entry(offsets=(0, 24, 27)))
st("offsets_swapped", "ends before it begins", a=entry(offsets=(24, 0)))
st("offsets_negative", "lies outside", a=entry(offsets=(-24, 0)))
st("offsets_outside", "lies outside", a=entry(offsets=(100, 124)))
st("offsets_huge", "does not fit 64 bits", a=entry(offsets=(0, 2**70)))
st("overlap", "overlaps", b=entry("U8", (3,), (23, 26)))
st("hole", "belong to no tensor", {"a": entry(), "b": entry("U8", (2,), (25, 27))})
st("rest_unused", "but the file has", {"a": entry()})
st("metadata_list", "expected an object", __metadata__=[])
st("metadata_number", "expected a string", __metadata__={"a": 1})
put(
    "st_bool_two.safetensors",
    safetensors({"a": entry("BOOL", (3,), (0, 3))}, b"\0\1\2"),
    "neither 0 nor 1",
)

# -- npy --------------------------------------------------------------------------------------------


def npy(header, data=FLOATS, version=1, length=None, magic=b"\x93NUMPY"):
    text = header.encode() if isinstance(header, str) else header
    size = len(text) if length is None else length
    return magic + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text + data


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
good_npy = npy(HEADER)


def np(name, message, old="", new="", **more):
    put(f"npy_{name}.npy", npy(HEADER.replace(old, new) if old else HEADER, **more), message)


put("good.npy", good_npy, "ok")
put("good_2.npy", npy(HEADER, version=2), "ok")
put("npy_empty.npy", b"", "not an npy file")
put("npy_cut_5.npy", good_npy[:5], "not an npy file")
put("npy_cut_8.npy", good_npy[:8], "cut off")
put("npy_cut_20.npy", good_npy[:20], "does not fit a file")
put("npy_cut_last.npy", good_npy[:-1], "bytes of data for")
put("npy_cut_v2.npy", npy(HEADER, version=2)[:11], "cut off")
put("npy_one_more.npy", good_npy + b"\0", "something follows the data")
np("magic", "not an npy file", magic=b"\x93NUMPI")
np("version_0", "version 0", version=0)
np("version_9", "version 9", version=9)
np("length_long", "does not fit a file", length=60000)
np("length_huge", "does not fit a file", version=2, length=2**32 - 1)
np("length_short", "byte ", length=20)
np("no_dictionary", "expected '{'", HEADER, "hello")
np("dtype_object", "is not supported", "<f4", "|O")
np("dtype_text", "is not supported", "<f4", "<U5")
np("dtype_complex", "is not supported", "<f4", "<c8")
np("dtype_unsigned", "is not supported", "<f4", "<u4")
np("dtype_empty", "is not supported", "<f4", "")
np("dtype_no_order", "is not supported", "<f4", "f4")
np("records", "records are not supported", "'<f4'", "[('a', '<f4')]")
np("order_text", "True or False", "False", "'C'")
np("order_number", "True or False", "False", "0")
np("no_descr", "has no 'descr'", "'descr': '<f4', ", "")
np("no_order", "has no 'fortran_order'", "'fortran_order': False, ", "")
np("no_shape", "has no 'shape'", "'shape': (2, 3), ", "")
np("twice", "appears twice", "'shape': (2, 3), ", "'shape': (2, 3), 'shape': (2, 3), ")
np("unknown", "is unknown", "'descr'", "'kind'")
np("shape_negative", "not negative", "(2, 3)", "(-2, -3)")
np("shape_text", "expected an extent", "(2, 3)", "(a, 3)")
np("shape_open", "expected", "(2, 3), }", "(2, 3")
np("shape_list", "expected '('", "(2, 3)", "[2, 3]")
np("shape_overflow", "too large", "(2, 3)", "(1099511627776, 1099511627776)")
np("shape_no_fit", "expected an extent", "(2, 3)", "(99999999999999999999,)")
np("shape_large", "bytes of data for", "(2, 3)", "(1099511627776,)")
np("shape_dims", "dimensions", "(2, 3)", "(" + "1, " * 100 + ")")
np("string_open", "without an end", HEADER, "{'descr: ")
np("after", "something follows the end", "}\n", "} x")
np("bool", "neither 0 nor 1", "'<f4'", "'|b1'", data=b"\0\1\2\3\4\5")

# -- npz --------------------------------------------------------------------------------------------


def npz(files, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as z:
        for name, data in files:
            z.writestr(zipfile.ZipInfo(name), data, compression)
    return bytearray(out.getvalue())


stored = npz([("a.npy", good_npy), ("b.npy", good_npy)])
deflated = npz([("a.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9999,), }", b"\5" * 9999))], zipfile.ZIP_DEFLATED)
end = stored.rfind(b"PK\x05\x06")
central = stored.find(b"PK\x01\x02")


def nz(name, message, base=None, at=None, value=b"", cut=None):
    data = bytearray(stored if base is None else base)
    if at is not None:
        data[at : at + len(value)] = value
    put(f"npz_{name}.npz", bytes(data[:cut]), message)


put("good.npz", stored, "ok")
put("good_deflated.npz", deflated, "ok")
nz("empty", "not a zip archive", base=b"")
nz("text", "not a zip archive", base=b"hello, world, this is no archive at all")
nz("cut_end", "not a zip archive", cut=-1)
nz("cut_half", "not a zip archive", cut=len(stored) // 2)
nz("directory_offset", "outside of the archive", at=end + 16, value=struct.pack("<I", 2**31))
nz("directory_size", "outside of the archive", at=end + 12, value=struct.pack("<I", 2**31))
nz("directory_moved", "expected an entry", at=end + 16, value=struct.pack("<I", 3))
nz("count", "too small for its number", at=end + 10, value=struct.pack("<H", 60000))
nz("central_magic", "expected an entry", at=central, value=b"XX")
nz("encrypted", "is encrypted", at=central + 8, value=b"\1")
nz("method", "is compressed in a way", at=central + 10, value=struct.pack("<H", 14))
nz("two_sizes", "has two sizes", at=central + 24, value=struct.pack("<I", 7))
nz("stored_huge", "larger than the archive", at=central + 20, value=struct.pack("<I", 2**31))
nz("name_long", "cut off", at=central + 28, value=struct.pack("<H", 65535))
nz("offset_outside", "cut off", at=central + 42, value=struct.pack("<I", 2**31))
nz("offset_wrong", "expected a file's header", at=central + 42, value=struct.pack("<I", 1))
nz("local_magic", "expected a file's header", at=0, value=b"XX")
nz("checksum", "checksum", at=central + 16, value=struct.pack("<I", 12345))
nz("data", "checksum", at=60, value=b"?")
second = stored.find(b"PK\x01\x02", central + 1)
nz("overlap", "overlaps", at=second + 42, value=struct.pack("<I", 4))
nz("same_name", "appears twice", base=stored.replace(b"b.npy", b"a.npy"))
nz("not_npy", "not an npy file", base=npz([("a.npy", b"hello")]))
dcentral = deflated.find(b"PK\x01\x02")
nz("deflate_damaged", "damaged", base=deflated, at=40, value=b"\xff\xff\xff\xff")
nz("deflate_bomb", "cannot have", base=deflated, at=dcentral + 24, value=struct.pack("<I", 2**31))
nz("deflate_short", "damaged", base=deflated, at=dcentral + 24, value=struct.pack("<I", 100))

(folder / "list.txt").write_text("\n".join(lines) + "\n")
print(sum(not line.endswith("\tok") for line in lines), "malformed files")
