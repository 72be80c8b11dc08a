"""NIfTI-1 files of any kind, written by the layout of nifti1.h alone."""
import gzip
import struct

try:
    import numpy as np
except ImportError:
    np = None

CODES = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "c8": 32, "f8": 64}


def write_nifti(path, values, voxel=(1, 1, 1), affine=None, quaternion=None, kind="f4", slope=0., intercept=0., units=2, flip=1.):
    """values [z][y][x], or [volume][z][y][x]. `affine` [3][4]: of the sform, in RAS. `quaternion`: b, c, d and the offsets of
    the qform. A path that ends with .hdr or .img makes a pair; .gz packs."""
    pair = path.endswith((".hdr", ".img"))
    sizes = values.shape[::-1]
    head = bytearray(348)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, len(sizes), *sizes, *[1] * (7 - len(sizes)))
    struct.pack_into("<2h", head, 70, CODES[kind], 8 * np.dtype(kind).itemsize)
    struct.pack_into("<8f", head, 76, flip, *voxel, 1, 1, 1, 1)
    struct.pack_into("<3f", head, 108, 0 if pair else 352, slope, intercept)
    head[123] = units
    if quaternion is not None:
        struct.pack_into("<h", head, 252, 1)
        struct.pack_into("<6f", head, 256, *quaternion)
    if affine is not None:
        struct.pack_into("<h", head, 254, 1)
        struct.pack_into("<12f", head, 280, *np.asarray(affine, float)[:3].ravel())
    head[344:348] = b"ni1\0" if pair else b"n+1\0"
    voxels = np.ascontiguousarray(values).astype(kind).tobytes()
    if pair:
        for ending, content in ((".hdr", head), (".img", voxels)):
            with open(path[:-4] + ending, "wb") as file:
                file.write(content)
        return path
    with gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb") as file:
        file.write(bytes(head) + bytes(4) + voxels)
    return path


def affine_of(path):
    """The sform of a file in RAS, [3][4]."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        head = file.read(348)
    assert struct.unpack_from("<h", head, 254)[0] > 0, path
    return np.array(struct.unpack_from("<12f", head, 280), float).reshape(3, 4)
