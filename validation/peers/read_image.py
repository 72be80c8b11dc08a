#!/usr/bin/env python3
"""Checks that other programs read mri_recon's image files correctly: values, and positions in the patient.

usage: read_image.py PROGRAM      (PROGRAM: write_sample_image)

The magnitude at each voxel of a sample encodes the voxel's position: 500 + 100 frame + 2 x + 3 y + 5 z, in the
patient's coordinates (LPS, mm), which write_sample_image takes from the rules of ISMRMRD. Every reader computes
each voxel's position from the file, by its own rules, and the magnitude must match it. Exit status: 0; 1 if any
failed; 77 if none could be tried.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from map_readers import Skip, interpreter_for

# name: frames, counts x y z, steps between voxels x y z, whether the orientation is known, nibabel's letters for it,
# and the number of places over which frames alternate
SCENES = {
    "volume": (2, (12, 10, 8), (1.5, 2, 3), True, "LPS", 1),
    "odd": (1, (7, 9, 5), (1.5, 1.5, 1.5), True, "LPS", 1),
    "stack": (2, (9, 7, 5), (2, 2.5, 6), True, "LPS", 1),
    "backwards": (1, (9, 7, 5), (2, 2.5, 5), True, "LPI", 1),
    "axial": (1, (6, 5, 4), (1, 2, 3), True, "LPS", 1),
    "ras": (1, (6, 5, 4), (1, 2, 3), True, "RAS", 1),
    "coronal": (1, (6, 5, 4), (1, 2, 3), True, "LIP", 1),
    "sagittal": (1, (6, 5, 4), (1, 2, 3), True, "PIR", 1),
    "mirrored": (1, (6, 5, 4), (1, 2, 3), True, "PIL", 1),
    "slice": (1, (16, 12, 1), (2, 2, 8), True, "LPS", 1),
    "films": (3, (16, 12, 1), (2, 2, 8), True, "LPS", 1),
    "unknown": (1, (6, 5, 4), (1, 2, 3), False, None, 1),
    "slabs": (5, (6, 5, 4), (1, 2, 3), True, "LPS", 2),
}

COMMON = """
import sys
import numpy as np
path, frames, counts, steps, known, letters, places = sys.argv[1], *eval(sys.argv[2])

def check(condition, what):
    if not condition:
        sys.exit(what)

def check_values(magnitude, affine, first_frame=0, step=1):
    '''Every step-th frame of magnitude[x, y, z, frame] against the places that an affine (LPS) gives. Single precision: 6e-8 of 700, in values and in the
    affine's entries (times 16 voxels); 1e-3 is far above that and far below a step, which changes the value by 2 or more.'''
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in magnitude.shape[:3]), indexing="ij"), axis=-1)
    place = grid @ np.asarray(affine)[:3, :3].T + np.asarray(affine)[:3, 3]
    for frame in range(0, magnitude.shape[3], step):
        expected = 500 + 100 * (first_frame + frame) + place @ np.array([2.0, 3.0, 5.0])
        error = np.abs(magnitude[..., frame] - expected).max()
        check(error <= 1e-3, f"frame {frame}: values lie elsewhere: off by {error:.3g}")
"""

NIBABEL = """
import nibabel
to_lps = np.diag([-1, -1, 1, 1])
end = ".nii.gz" if path.endswith(".gz") else ".nii"
for place in range(places):  # volumes at other places are in files of their own
    image = nibabel.load(path if place == 0 else f"{path[:-len(end)]}_{place + 1}{end}")
    own = range(place, frames, places)
    data = np.asarray(image.dataobj)
    check(data.dtype == np.float32, f"type {data.dtype}")
    check(data.shape == (counts if len(own) == 1 else counts + (len(own),)), f"shape {data.shape}")
    data = data.reshape(counts + (len(own),))
    check(np.allclose(image.header.get_zooms()[:3], steps, rtol=1e-6), f"voxels {image.header.get_zooms()}")
    check(image.header.get_xyzt_units()[0] == "mm", "unit")
    sform, scode = image.header.get_sform(coded=True)
    qform, qcode = image.header.get_qform(coded=True)
    check((scode, qcode) == ((1, 1) if known else (0, 0)), f"codes {scode}, {qcode}")
    sform_numbers = image.header.get_sform()  # those of an unknown orientation too
    for n, frame in enumerate(own):
        check_values(data[..., n : n + 1], to_lps @ sform_numbers, frame)
        if known:
            check_values(data[..., n : n + 1], to_lps @ image.affine, frame)
    if known:
        check(np.allclose(qform, sform, atol=1e-4), f"qform {qform} is not sform {sform}")
        check(place > 0 or "".join(nibabel.aff2axcodes(image.affine)) == letters, f"axes {nibabel.aff2axcodes(image.affine)}")
    white = float(image.header["cal_max"])
    check(data.min() < white <= data.max(), f"cal_max {white}")
    check(b"Voxfield" in image.header["descrip"].tobytes(), "description")
    notes = [e.get_content() for e in image.header.extensions]
    check(len(notes) == 1 and "cg, 10 iterations" in str(notes[0]), f"extension {notes}")
"""

H5PY = """
import h5py
with h5py.File(path, "r") as f:
    image = f["image"]
    a = image.attrs
    check(image.dtype == np.complex64, f"type {image.dtype}")
    check(image.shape == (frames,) + counts[::-1], f"shape {image.shape}")
    affine = np.stack([a["step_x"], a["step_y"], a["step_z"], a["origin"]], axis=1)
    data = image[...].transpose(3, 2, 1, 0)
    check_values(np.abs(data), affine, step=places)
    check(f["affine"].shape == (frames, 3, 4), "affine")
    for n in range(frames):
        check_values(np.abs(data[..., n : n + 1]), f["affine"][n], n)
    for n in range(frames):  # 1e-6: rounding of single precision
        check(np.abs(np.angle(data[..., n]) - (0.4 + 0.5 * n)).max() < 1e-6, "phase")
    check(int(a["patient_coordinates_known"]) == int(known), "patient_coordinates_known")
    check(f.attrs["format"] == "voxfield image" and f.attrs["method"] == "cg, 10 iterations", "provenance")
    check(np.allclose(np.linalg.norm(affine[:, :3], axis=0), steps), "steps")
"""

# By the rules of ISMRMRD: an image's position is its centre, which is voxel N/2; directions are read, phase, slice.
PLACES = """
def affine_of(header, shape):
    d = np.array([list(header.read_dir), list(header.phase_dir), list(header.slice_dir)], dtype=float)
    voxel = np.array([header.field_of_view[a] / header.matrix_size[a] for a in range(3)])
    affine = np.zeros((3, 4))
    affine[:, :3] = (d * voxel[:, None]).T
    affine[:, 3] = np.array(list(header.position)) - affine[:, :3] @ np.array([n // 2 for n in shape])
    return affine
"""

ISMRMRD = PLACES + """
import ismrmrd
import xml.etree.ElementTree
dataset = ismrmrd.Dataset(path, "dataset", create_if_needed=False)
name = [n for n in ("image_0", "image_1") if n in dataset.list()][-1]
count = dataset.number_of_images(name)
slices = 1 if count == frames else counts[2]
check(count == frames * slices, f"{count} images")
for n in range(count):
    image = dataset.read_image(name, n)
    head = image.getHead()
    check(image.data.dtype == np.complex64, f"type {image.data.dtype}")
    depth = counts[2] if slices == 1 else 1
    check(image.data.shape == (1, depth) + counts[1::-1], f"shape {image.data.shape}")
    check(list(head.matrix_size) == [counts[0], counts[1], depth], "matrix_size")
    check((head.version, head.data_type, head.image_type, head.channels) == (1, 7, 5, 1), "header")
    check((head.slice, head.repetition, head.image_index) == (n % slices, n // slices, n + 1), "counters")
    check_values(np.abs(image.data[0].transpose(2, 1, 0))[..., None], affine_of(head, (counts[0], counts[1], depth)), n // slices)
    check(abs(np.angle(image.data).mean() - (0.4 + 0.5 * (n // slices))) < 1e-5, "phase")
    meta = xml.etree.ElementTree.fromstring(image.attribute_string)
    check("<a&b>" in [m.find("value").text for m in meta][-1], "attributes")
header = ismrmrd.xsd.CreateFromDocument(dataset.read_xml_header())
check(len(header.encoding) >= 1, "header")
"""

READERS = {
    ".nii": [("nibabel", "nibabel", NIBABEL)],
    ".nii.gz": [("nibabel", "nibabel", NIBABEL)],
    ".h5": [("h5py", "h5py", H5PY)],
    ".mrd": [("ismrmrd", "ismrmrd", ISMRMRD)],
}


def run(what, module, program, path, scene):
    """"ok", "SKIP (reason)" or "FAILED (what)"."""
    try:
        python = interpreter_for(module)
    except Skip as skip:
        return f"SKIP ({skip})"
    done = subprocess.run([python, "-c", COMMON + program, path, repr(SCENES[scene])], capture_output=True, text=True, timeout=300)
    if done.returncode == 0:
        return "ok"
    return f"FAILED ({(done.stderr.strip() or 'no message').splitlines()[-1]})"


def gunzips(path):
    """gzip itself, which is strict about lengths and checksums."""
    if not shutil.which("gzip"):
        return "SKIP (no gzip)"
    return "ok" if subprocess.run(["gzip", "-t", path], capture_output=True).returncode == 0 else "FAILED (gzip -t)"


def appended(program, folder):
    """Images added to a copy of a scan of ismrmrd-tools: the scan and its data stay unchanged."""
    generate = shutil.which("ismrmrd_generate_cartesian_shepp_logan")
    if not generate:
        return "SKIP (no ismrmrd-tools)"
    scan, copy = os.path.join(folder, "scan.h5"), os.path.join(folder, "copy.mrd")
    subprocess.run([generate, "-m", "16", "-c", "2", "-o", scan], check=True, capture_output=True)
    with open(scan, "rb") as stream:
        before = stream.read()
    for source, target in ((scan, copy), (copy, os.path.join(folder, "again.mrd"))):
        done = subprocess.run([program, "volume", target, source], capture_output=True, text=True)
        if done.returncode:
            return f"FAILED ({done.stderr.strip()})"
        with open(scan, "rb") as stream:
            if stream.read() != before:
                return "FAILED (the scan itself was changed)"
        word = run("ismrmrd", "ismrmrd", ISMRMRD + f"""
check(dataset.number_of_acquisitions() == 16, "acquisitions")
check(np.abs(dataset.read_acquisition(8).data).max() > 0, "samples")
check(name == "{'image_0' if source == scan else 'image_1'}", f"series {{name}}")
""", target, "volume")
        if word != "ok":
            return word
    return "ok"


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    words = []
    with tempfile.TemporaryDirectory() as folder:
        for scene in SCENES:
            for ending, readers in READERS.items():
                path = os.path.join(folder, scene + ending)
                subprocess.run([arguments[0], scene, path], check=True)
                results = [(what, run(what, module, program, path, scene)) for what, module, program in readers]
                if ending == ".nii.gz":
                    results.append(("gzip", gunzips(path)))
                for what, word in results:
                    print(f"{scene + ending:18} {what}: {word}", flush=True)
                    words.append(word)
        words.append(appended(arguments[0], folder))
        print(f"{'copy of a scan':18} ismrmrd: {words[-1]}")
    if any(w.startswith("FAILED") for w in words):
        return 1
    if "ok" not in words:
        print("SKIP: no reader is installed")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
