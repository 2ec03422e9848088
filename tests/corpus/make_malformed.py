#!/usr/bin/env python3
"""make_malformed.py FOLDER: writes files that are not what their names say, and a list of them.

Each line of FOLDER/list.txt is the name of a file, a tab, and a piece of the message that must refuse it.
The good files that the bad ones are made from are listed too, with the message "ok".
"""
import base64
import gzip
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

# -- idx --------------------------------------------------------------------------------------------


def idx(extents=(2, 2, 3), data=None, kind=8, dims=None):
    size = 1
    for e in extents:
        size *= e
    head = bytes([0, 0, kind, len(extents) if dims is None else dims])
    return head + b"".join(struct.pack(">I", e) for e in extents) + (bytes(range(size)) if data is None else data)


good_idx = idx()
zipped = gzip.compress(good_idx, mtime=0)
put("good.idx3", good_idx, "ok")
put("good_gz.idx3", zipped, "ok")
put("good_empty.idx3", idx((0, 28, 28)), "ok")
put("idx_empty.idx3", b"", "is not an idx file")
put("idx_cut_2.idx3", good_idx[:2], "is not an idx file")
put("idx_magic.idx3", b"\1" + good_idx[1:], "is not an idx file")
put("idx_type.idx3", idx(kind=13), "elements of type 13")
put("idx_dims.idx3", idx((12,)), "has 1 dimensions, expected 3")
put("idx_dims_huge.idx3", idx(dims=255), "has 255 dimensions")
put("idx_cut_header.idx3", good_idx[:10], "ends in dimension 1")
put("idx_cut_data.idx3", good_idx[:-1], "promises 12 bytes, there are 11")
put("idx_no_data.idx3", good_idx[:16], "promises 12 bytes, there are 0")
put("idx_one_more.idx3", good_idx + b"\0", "goes on after the 12 bytes")
put("idx_huge.idx3", idx((2**32 - 1, 2**32 - 1, 2**32 - 1), b""), "impossible extents")
put("idx_large.idx3", idx((2**31, 1, 1), b"abc"), "promises 2147483648 bytes, there are 3")
put("idx_gz_cut.idx3", zipped[:-12], "cut short")
put("idx_gz_crc.idx3", zipped[:-6] + b"\1\2" + zipped[-4:], "damaged")
put("idx_gz_damaged.idx3", zipped[:12] + b"\xff\xff" + zipped[14:], "damaged")

# -- CIFAR ------------------------------------------------------------------------------------------

RECORD = bytes(i % 251 for i in range(3072))
good_10, good_100 = (b"\3" + RECORD) * 2, (b"\3\x60" + RECORD) * 2
put("good.cifar10", good_10, "ok")
put("good.cifar100", good_100, "ok")
put("cifar_empty.cifar10", b"", "is empty")
put("cifar_cut.cifar10", good_10[:-1], "record 1 at byte 3073 is cut short")
put("cifar_one_more.cifar10", good_10 + b"\0", "record 2 at byte 6146 is cut short")
put("cifar_label.cifar10", good_10[:3073] + b"\x0a" + RECORD, "byte 3073: label 0 of record 1 is 10")
put("cifar_other.cifar10", good_100, "is cut short")
put("cifar_coarse.cifar100", b"\x14\0" + RECORD, "byte 0: label 0 of record 0 is 20, expected 0 to 19")
put("cifar_fine.cifar100", b"\0\x64" + RECORD, "byte 1: label 1 of record 0 is 100, expected 0 to 99")
put("cifar_cut.cifar100", good_100[:100], "record 0 at byte 0 is cut short")

# -- CSV --------------------------------------------------------------------------------------------


def csv(name, text, message):
    put(f"csv_{name}.csv", text if isinstance(text, bytes) else text.encode(), message)


put("good.csv", b"a,b,c\n1,2,3\n4,5.5,-6e1\n", "ok")
put("good_quoted.csv", b'\xef\xbb\xbf"a ""x""","b,\nc",d\r\n"1",,NA\r\n\r\n 4 ,+5,inf', "ok")
csv("empty", "", "is empty")
csv("header_only_blank", "\n\n", "there is no header")
csv("no_rows", "a,b\n", "there are no rows")
csv("short_row", "a,b,c\n1,2,3\n1,2\n", "line 3: 2 fields, expected 3")
csv("long_row", "a,b\n1,2\n\n1,2,3\n", "line 4: 3 fields, expected 2")
csv("text", "a,b\n1,2\n3,four\n", "line 3, column 2 ('b'): 'four' is not a number")
csv("rest", "a,b\n1,2x\n", "line 2, column 2 ('b'): '2x' is not a number")
csv("two_points", "a\n1.2.3\n", "line 2, column 1 ('a'): '1.2.3' is not a number")
csv("open_quote", 'a,b\n1,2\n1,"2\n3,4\n', "line 3, column 2: a quote is opened and never closed")
csv("after_quote", 'a,b\n1,"2"3\n', "line 2, column 2: something follows the closing quote")
csv("quote_inside", 'a,b\n1,2"3"\n', "line 2, column 2: a quote inside of a field")
csv("zero", b"a,b\n1,2\0\n", "line 2, column 2: a zero byte")
csv("same_name", "a,b,a\n1,2,3\n", "line 1, column 3: the name 'a' appears twice")
csv("huge_number", "a\n1e999\n", "line 2, column 1 ('a'): '1e999' does not fit")
csv("hex", "a\n0x10\n", "line 2, column 1 ('a'): '0x10' is not a number")
csv("long_field", "a\n" + "z" * 100000 + "\n", "line 2, column 1 ('a'): 'zzz")

# -- PNG --------------------------------------------------------------------------------------------


def chunk(kind, data, crc=None):
    check = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6


def header(width=4, height=3, depth=8, colour=GRAY, compression=0, filtering=0, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, compression, filtering, interlace))


def rows(values):
    """Rows of bytes, each with filter 0 in front, compressed."""
    return zlib.compress(b"".join(b"\0" + bytes(r) for r in values))


def png(head, data, before=b"", after=b""):
    return SIGNATURE + head + before + chunk(b"IDAT", data) + after + chunk(b"IEND", b"")


# 4 x 3 pixels each; pixel (x, y) of a grey one is 60 * x + 10 * y.
GREY = [[60 * x + 10 * y for x in range(4)] for y in range(3)]
COLOUR = [[v for x in range(4) for v in (60 * x, 100 * y, 7)] for y in range(3)]
good_png = png(header(), rows(GREY))
put("good_gray.png", good_png, "ok")
put("good_gray16.png", png(header(depth=16), rows([b for v in r for b in (v, v)] for r in GREY)), "ok")
put("good_gray1.png", png(header(depth=1), rows([[0b10100000], [0b01010000], [0b11110000]])), "ok")
put("good_gray_alpha.png", png(header(colour=GRAY_ALPHA), rows([b for v in r for b in (v, 255 - v)] for r in GREY)), "ok")
put("good_rgb.png", png(header(colour=RGB), rows(COLOUR)), "ok")
put("good_rgb16.png", png(header(depth=16, colour=RGB), rows([b for v in r for b in (v, v)] for r in COLOUR)), "ok")
put("good_rgb_alpha.png", png(header(colour=RGB_ALPHA), rows([b for x in range(4) for b in (*r[3 * x : 3 * x + 3], 50 * x)] for r in COLOUR)), "ok")
palette = chunk(b"PLTE", bytes([9, 8, 7, 100, 110, 120]))
indices = rows([[0b01010000], [0b10100000], [0b00000000]])
put("good_palette.png", png(header(depth=1, colour=PALETTE), indices, palette), "ok")
put("good_palette_alpha.png", png(header(depth=1, colour=PALETTE), indices, palette + chunk(b"tRNS", bytes([40]))), "ok")
# Seven passes over 4 x 3 pixels: those that begin at (x, y) and go in steps.
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
interlaced = [[GREY[y][x] for x in range(x0, 4, dx)] for x0, y0, dx, dy in passes for y in range(y0, 3, dy) if x0 < 4]
put("good_interlaced.png", png(header(interlace=1), rows(interlaced)), "ok")

put("png_empty.png", b"", "is empty")
put("png_text.png", b"hello", "is neither a PNG nor a JPEG file (byte 0 is 104)")
put("png_signature_only.png", SIGNATURE, "near byte 8: the file ends too early")
put("png_signature_cut.png", SIGNATURE[:7], "is neither a PNG")
for n in (20, 40, len(good_png) - 20, len(good_png) - 5):
    put(f"png_cut_{n}.png", good_png[:n], "the file ends too early")
put("png_line_ends.png", good_png.replace(b"\r\n", b"\n"), "is neither a PNG")
put("png_no_header.png", SIGNATURE + chunk(b"IDAT", rows(GREY)) + chunk(b"IEND", b""), "Missing IHDR before IDAT")
put("png_header_twice.png", png(header() + header(), rows(GREY)), "IHDR: out of place")
put("png_header_crc.png", SIGNATURE + header()[:-4] + b"abcd" + good_png[33:], "IHDR: CRC error")
put("png_data_crc.png", SIGNATURE + header() + chunk(b"IDAT", rows(GREY), crc=1) + chunk(b"IEND", b""), "IDAT: CRC error")
put("png_no_data.png", SIGNATURE + header() + chunk(b"IEND", b""), "near byte")
put("png_zero_width.png", png(header(width=0), rows(GREY)), "Invalid IHDR data")
put("png_zero_height.png", png(header(height=0), rows(GREY)), "Invalid IHDR data")
put("png_negative.png", png(header(width=2**31), rows(GREY)), "integer out of range")
put("png_wide.png", png(header(width=2**30), rows(GREY)), "Invalid IHDR data")
put("png_bomb.png", png(header(width=900000, height=900000), rows(GREY)), "are not read")
put("png_promise.png", png(header(width=4000, height=4000), rows(GREY)), "bytes cannot hold")
put("png_depth.png", png(header(depth=3), rows(GREY)), "Invalid IHDR data")
put("png_colour.png", png(header(colour=5), rows(GREY)), "Invalid IHDR data")
put("png_depth_colour.png", png(header(depth=2, colour=RGB), rows(GREY)), "Invalid IHDR data")
put("png_compression.png", png(header(compression=1), rows(GREY)), "Invalid IHDR data")
put("png_filtering.png", png(header(filtering=9), rows(GREY)), "Invalid IHDR data")
put("png_interlace.png", png(header(interlace=2), rows(GREY)), "Invalid IHDR data")
put("png_no_palette.png", png(header(depth=1, colour=PALETTE), indices), "Missing PLTE")
put("png_palette_length.png", png(header(depth=1, colour=PALETTE), indices, chunk(b"PLTE", b"1234")), "PLTE: invalid")
put("png_deflate.png", png(header(), b"this is not compressed data"), "IDAT")
put("png_rows_missing.png", png(header(), rows(GREY[:2])), "Not enough image data")
put("png_filter.png", png(header(), zlib.compress(b"".join(b"\7" + bytes(r) for r in GREY))), "bad adaptive filter value")
put("png_unknown_critical.png", png(header(), rows(GREY), chunk(b"ABCD", b"x")), "ABCD: unhandled critical chunk")
put("png_chunk_length.png", SIGNATURE + struct.pack(">I", 2**31) + header()[4:], "near byte")

# -- JPEG -------------------------------------------------------------------------------------------

# 16 x 8 pixels: grey, and colours with red = 17 * x, green = 36 * y, blue = 128; the same 32 x 16,
# progressive; 8 x 8 pixels of four inks. Written by libjpeg.
good_jpeg_grey = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUV"
    "DA8XGBYUGBIUFRT/wAALCAAIABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAACAn/xAAXEAADAQAAAAAAAAAAAAAAAAAACESB/9oACAEB"
    "AAA/ACQskmFa1kkw/9k="
)
good_jpeg = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoK"
    "BggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK"
    "Cgr/wAARCAAIABADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAcI/8QAHxAAAgAFBQAAAAAAAAAAAAAAAAEHCUNR4QYRExYj"
    "/8QAFAEBAAAAAAAAAAAAAAAAAAAAB//EAB0RAAAGAwEAAAAAAAAAAAAAAAAGByRR0QgiI7H/2gAMAwEAAhEDEQA/AJXCOTy3xbaXtRwa"
    "jhDJ6fkur2o4ADg6KwdtnHtgkxkW9RODqJsf/9k="
)
progressive = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoK"
    "BggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK"
    "Cgr/wgARCAAQACADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAABgcI/8QAFwEAAwEAAAAAAAAAAAAAAAAABQYHCP/aAAwDAQAC"
    "EAMQAAABzmnvCgvPYMovChS0H//EABYQAAMAAAAAAAAAAAAAAAAAAAAEBv/aAAgBAQABBQJSSFJIUkhSSFJIUkhSSFJI/8QAGBEAAgMA"
    "AAAAAAAAAAAAAAAAAAYHIjH/2gAIAQMBAT8BWpBywtSDlj//xAAXEQADAQAAAAAAAAAAAAAAAAAABAZi/9oACAECAQE/AXLPQ5Z6P//E"
    "ABUQAQEAAAAAAAAAAAAAAAAAAAAz/9oACAEBAAY/Appppppppv/EABYQAAMAAAAAAAAAAAAAAAAAAAAxwf/aAAgBAQABPyFMiZEyLkTI"
    "mRMi5P/aAAwDAQACAAMAAAAQYq//xAAWEQADAAAAAAAAAAAAAAAAAAAAQaH/2gAIAQMBAT8Qlsls/8QAFhEAAwAAAAAAAAAAAAAAAAAA"
    "ADHB/9oACAECAQE/EH0Po//EABoQAAEFAQAAAAAAAAAAAAAAAAABEBEhoVH/2gAIAQEAAT8QuUeCcE4ZqRyZhyTbP//Z"
)
inks = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggLCAkKCgoKCgYI"
    "CwwLCgwJCgoK/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAMACf/EAB8QAAEBCQEAAAAAAAAAAAAAAAAB"
    "AwYKGjFXcZTB4f/aAA4EQwBNAFkASwAAPwA4Weru5ZcDlZ1t0ur4RpAf/9k="
)
put("good_gray.jpg", good_jpeg_grey, "ok")
put("good_rgb.jpg", good_jpeg, "ok")
put("good_progressive.jpg", progressive, "ok")
put("good_cmyk.jpg", inks, "ok")
put("good_trailing.jpg", good_jpeg + b"some more", "ok")


def jpeg(name, message, at=None, value=b"", cut=None, base=None):
    data = bytearray(good_jpeg if base is None else base)
    if at is not None:
        data[at : at + len(value)] = value
    put(f"jpeg_{name}.jpg", bytes(data[:cut]), message)


frame = good_jpeg.index(b"\xff\xc0")
scan = good_jpeg.index(b"\xff\xda")
tables = good_jpeg.index(b"\xff\xc4")
jpeg("start_only", "near byte", cut=3)
jpeg("cut_header", "near byte", cut=30)
jpeg("cut_frame", "near byte", cut=frame + 8)
jpeg("cut_tables", "near byte", cut=tables + 10)
jpeg("cut_scan", "near byte", cut=scan + 6)
jpeg("cut_data", "near byte", cut=scan + 20)
jpeg("cut_end", "near byte", cut=-2)
jpeg("progressive_cut", "near byte", cut=-60, base=progressive)
jpeg("no_frame", "near byte", base=good_jpeg[:frame] + good_jpeg[frame + 19 :])
jpeg("no_tables", "near byte", base=good_jpeg[:tables] + good_jpeg[scan:])
jpeg("no_scan", "near byte", base=good_jpeg[:scan] + b"\xff\xd9")
jpeg("zero_width", "near byte", at=frame + 7, value=b"\0\0")
jpeg("zero_height", "near byte", at=frame + 5, value=b"\0\0")
jpeg("large", "are not read", at=frame + 5, value=b"\xff\xd0\xff\xd0")
jpeg("promise", "bytes cannot hold", at=frame + 5, value=b"\x0f\xff\x0f\xff")
jpeg("precision", "near byte", at=frame + 4, value=b"\x0c")
jpeg("components", "near byte", at=frame + 9, value=b"\x07")
jpeg("sampling", "near byte", at=frame + 11, value=b"\x00")
jpeg("table_number", "near byte", at=scan + 6, value=b"\x33")
jpeg("scan_components", "near byte", at=scan + 4, value=b"\x09")
jpeg("code_lengths", "near byte", at=tables + 5, value=b"\xff" * 8)
jpeg("two_starts", "near byte", base=b"\xff\xd8" + good_jpeg)
jpeg("lossless", "near byte", at=frame, value=b"\xff\xc3")
jpeg("two_frames", "near byte", base=good_jpeg[:frame] + good_jpeg[frame : frame + 19] + good_jpeg[frame:])
jpeg("noise", "near byte", at=scan + 14, value=b"\xff\xd5\xff\xd6\xff\xd1")
put("jpeg_png.jpg", good_png[1:], "is neither a PNG nor a JPEG file")

# -- vocabularies -----------------------------------------------------------------------------------

VOCABULARY = "tandem vocabulary 1\nunit word\nunknown 0\nend_of_line 1\npieces 3\n<unk>\n<eos>\nhello\n"


def words(name, message, old="", new="", cut=None):
    put(f"voc_{name}.vocabulary", VOCABULARY.replace(old, new, 1).encode()[:cut], message)


put("good.vocabulary", VOCABULARY.encode(), "ok")
put("voc_empty.vocabulary", b"", "line 0: the file ends too early")
words("version", "line 1: is not a vocabulary", "y 1", "y 2")
words("unit", "line 2: the unit 'wort' is unknown", "word", "wort")
words("no_unit", "line 2: expected 'unit'", "unit word\n", "")
words("number", "line 3: expected a number, got 'x'", "unknown 0", "unknown x")
words("special", "line 5: 3 pieces, of which 7", "unknown 0", "unknown 7")
words("count", "line 5: -1 pieces", "pieces 3", "pieces -1")
words("count_large", "line 8: the file ends too early", "pieces 3", "pieces 4000000000")
words("count_small", "line 7: something follows the 2 pieces", "pieces 3", "pieces 2")
words("twice", "line 8: '<eos>' appears twice", "hello", "<eos>")
words("blank", "line 8: a piece without characters", "hello", "")
words("escape", "line 8: an unknown escape", "hello", "\\q")
words("escape_cut", "line 8: an unknown escape", "hello", "\\x1")
words("cut", "line 7: the line has no end", cut=-1)

(folder / "list.txt").write_text("\n".join(lines) + "\n")
print(sum(not line.endswith("\tok") for line in lines), "malformed files")
