"""Strict readers of cionize's meshes: binary PLY and glTF (GLB)."""
import json
import struct

import numpy

PLY_TYPES = {"float": "<f4", "uchar": "u1", "uint": "<u4"}


class Mesh:
    """vertex, normal [n][3]; color [n][3], 0 to 255 (PLY: sRGB, GLB: light); value [n] or None; triangle [m][3]; words."""

    def __init__(self, vertex, normal, color, value, triangle, words):
        self.vertex, self.normal, self.color, self.value = vertex, normal, color, value
        self.triangle, self.words = triangle, words

    def sides(self):
        a, b, c = (self.vertex[self.triangle[:, k]].astype(float) for k in range(3))
        return a, numpy.cross(b - a, c - a)

    def area(self):
        return numpy.linalg.norm(self.sides()[1], axis=1).sum() / 2

    def volume(self):
        a, n = self.sides()
        return (a * n).sum() / 6

    def check_closed(self):
        """Each edge has one triangle on either side, in opposite directions."""
        edges = numpy.concatenate([self.triangle[:, [k, (k + 1) % 3]] for k in range(3)]).astype(numpy.int64)
        there, back = edges[:, 0] * len(self.vertex) + edges[:, 1], edges[:, 1] * len(self.vertex) + edges[:, 0]
        assert len(numpy.unique(there)) == len(there), "an edge is passed twice in one direction"
        assert numpy.array_equal(numpy.sort(there), numpy.sort(back)), "an edge has one triangle"
        assert len(numpy.unique(self.triangle)) == len(self.vertex), "a vertex has no triangle"


def read_ply(path, name="potential"):
    with open(path, "rb") as file:
        data = file.read()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    lines = data[:end].decode("ascii").splitlines()
    assert lines[0] == "ply" and lines[1] == "format binary_little_endian 1.0", lines[:2]
    counts, properties, comments, element = {}, {}, [], None
    for line in lines[2:-1]:
        word = line.split()
        if word[0] == "comment":
            comments.append(line[len("comment "):])
        elif word[0] == "element":
            element = word[1]
            counts[element], properties[element] = int(word[2]), []
        else:
            assert word[0] == "property", line
            properties[element].append(word[1:])
    fields = [("x", "float"), ("y", "float"), ("z", "float"), ("nx", "float"), ("ny", "float"), ("nz", "float"),
              ("red", "uchar"), ("green", "uchar"), ("blue", "uchar"), (name, "float")]
    assert properties["vertex"] == [[kind, field] for field, kind in fields], properties
    assert properties["face"] == [["list", "uchar", "uint", "vertex_indices"]]
    vertices = numpy.frombuffer(data, [(f, PLY_TYPES[k]) for f, k in fields], counts["vertex"], end)
    faces = numpy.frombuffer(data, [("n", "u1"), ("v", "<u4", 3)], counts["face"], end + vertices.nbytes)
    assert end + vertices.nbytes + faces.nbytes == len(data), "the file has another length"
    assert (faces["n"] == 3).all()
    pick = lambda *names: numpy.stack([vertices[n] for n in names], axis=1)
    return Mesh(pick("x", "y", "z"), pick("nx", "ny", "nz"), pick("red", "green", "blue"), vertices[name], faces["v"], comments)


def read_glb(path, name="_POTENTIAL"):
    """Checks what glTF 2.0 requires of the container, of views, and of accessors."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, length, json_length, json_kind = struct.unpack_from("<4sIII4s", data)
    assert (magic, version, length, json_kind) == (b"glTF", 2, len(data), b"JSON") and json_length % 4 == 0
    tree = json.loads(data[20:20 + json_length].decode("utf-8"))
    bytes_, kind = struct.unpack_from("<I4s", data, 20 + json_length)
    start = 28 + json_length
    assert kind == b"BIN\0" and bytes_ % 4 == 0 and start + bytes_ == len(data)
    assert tree["asset"]["version"] == "2.0" and tree["buffers"] == [{"byteLength": bytes_}]
    primitive = tree["meshes"][0]["primitives"][0]
    assert primitive.get("mode", 4) == 4 and set(primitive["attributes"]) <= {"POSITION", "NORMAL", "COLOR_0", name}
    assert tree["nodes"][tree["scenes"][tree["scene"]]["nodes"][0]]["mesh"] == 0
    assert abs(numpy.linalg.norm(tree["nodes"][0]["rotation"]) - 1) < 1e-7
    used = 0

    def array(index):
        nonlocal used
        accessor = tree["accessors"][index]
        view = tree["bufferViews"][accessor["bufferView"]]
        type_ = {5126: "<f4", 5125: "<u4", 5121: "u1"}[accessor["componentType"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        count = accessor["count"] * width
        assert view["byteOffset"] % 4 == 0 and view["byteLength"] == count * numpy.dtype(type_).itemsize
        assert view["target"] == (34963 if index == primitive["indices"] else 34962)
        used += view["byteLength"]
        values = numpy.frombuffer(data, type_, count, start + view["byteOffset"]).reshape(-1, width)
        assert numpy.isfinite(values).all()
        if "min" in accessor:
            assert numpy.array_equal(values.min(axis=0), numpy.float32(accessor["min"]))
            assert numpy.array_equal(values.max(axis=0), numpy.float32(accessor["max"]))
        return values

    attributes = {key: array(index) for key, index in primitive["attributes"].items()}
    assert "min" in tree["accessors"][primitive["attributes"]["POSITION"]]
    triangle = array(primitive["indices"]).reshape(-1, 3)
    assert used == bytes_, "there are bytes that nothing uses"
    assert triangle.max() < len(attributes["POSITION"]) and (attributes["COLOR_0"][:, 3] == 255).all()
    assert abs(numpy.linalg.norm(attributes["NORMAL"], axis=1) - 1).max() < 5e-4
    value = attributes[name][:, 0] if name in attributes else None
    return Mesh(attributes["POSITION"], attributes["NORMAL"], attributes["COLOR_0"][:, :3], value, triangle, tree["asset"])
