"""The grid of cases of forecast.py: both programs, every method and prior."""
import math
import random
import struct
import subprocess
import sys

HEAD = ("--phantom", "head", "--noise", 0.02)
PLAIN = ("--without", "sensitivity")  # coil maps are estimated
LINES = ("--trajectory", "cartesian")

# What mri_phantom makes.
SCANS = {
    "radial": ("--matrix", "128,128,1", "--coils", 8, "--spokes", 64, "--oversample", 2, *HEAD, *PLAIN),
    "radial, maps in the file": ("--matrix", "128,128,1", "--coils", 8, "--spokes", 64, "--oversample", 2, *HEAD),
    "radial, full, 1 coil": ("--matrix", "128,128,1", *HEAD),
    "radial, 48^2": ("--matrix", "48,48,1", "--coils", 4, "--spokes", 36, *HEAD),
    "radial, 24 coils": ("--matrix", "96,96,1", "--coils", 24, "--spokes", 48, "--oversample", 2, *HEAD, *PLAIN),
    "spiral, field map": ("--matrix", "96,96,1", "--trajectory", "spiral", "--coils", 4, "--field-hz", 60, *HEAD),
    "lines, 1 coil": ("--matrix", "128,128,1", *LINES, *HEAD),
    "lines, R = 2": ("--matrix", "160,160,1", *LINES, "--coils", 8, "--accelerate", 2, *HEAD, *PLAIN),
    "lines, R = 2, joint maps": ("--matrix", "128,128,1", *LINES, "--coils", 8, "--accelerate", 2, "--calibration-lines", 2, *HEAD, *PLAIN),
    "lines, partial Fourier": ("--matrix", "128,128,1", *LINES, "--coils", 4, "--partial-fourier", 0.65, *HEAD, *PLAIN),
    "Poisson disc, R = 3": ("--matrix", "128,128,1", *LINES, "--coils", 6, "--poisson", 3, *HEAD, *PLAIN),
    "series": ("--matrix", "80,80,1", "--coils", 6, "--frames", 8, "--spokes", 14, "--continue", *HEAD, *PLAIN),
    "frames of lines": ("--matrix", "80,80,1", "--coils", 4, "--frames", 8, *LINES, *HEAD, *PLAIN),
    "koosh ball, 1 coil": ("--matrix", 32, *HEAD),
    "koosh ball, R = 4": ("--matrix", 32, "--coils", 6, "--spokes", 320, *HEAD, *PLAIN),
    "stack of stars": ("--matrix", "48,48,16", "--trajectory", "stack-of-stars", "--coils", 4, "--spokes", 24, *HEAD, *PLAIN),
    "lines, 3D, R = 2 x 2": ("--matrix", 32, "--coils", 6, *LINES, "--accelerate", "2,2", *HEAD, *PLAIN),
    "lines, 3D": ("--matrix", "64,64,32", "--coils", 4, *LINES, *HEAD),
    # For workstations and GPUs.
    "radial, 256^2": ("--matrix", "256,256,1", "--coils", 8, "--spokes", 128, "--oversample", 2, *HEAD, *PLAIN),
    "radial, 320^2, 32 coils": ("--matrix", "320,320,1", "--coils", 32, "--spokes", 120, *HEAD, *PLAIN),
    "lines, 256^2, R = 3": ("--matrix", "256,256,1", *LINES, "--coils", 12, "--accelerate", 3, *HEAD, *PLAIN),
    "series, 128^2": ("--matrix", "128,128,1", "--coils", 8, "--frames", 16, "--spokes", 21, "--continue", *HEAD, *PLAIN),
    "koosh ball, 64^3, R = 4": ("--matrix", 64, "--coils", 8, "--spokes", 1072, "--noise", 0.02, *PLAIN),
    "koosh ball, 96^3, R = 6": ("--matrix", 96, "--coils", 8, "--spokes", 2413, "--noise", 0.02, *PLAIN),
    "koosh ball, 128^3, 1 coil": ("--matrix", 128, "--spokes", 8000, "--noise", 0.02),
    "lines, 96^3, R = 2 x 2": ("--matrix", 96, "--coils", 8, *LINES, "--accelerate", "2,2", "--noise", 0.02, *PLAIN),
}

# Options of mri_recon for each scan.
IMAGES = [
    ("radial", ""),
    *(("radial", f"--prior {prior}") for prior in ("wavelet", "tv", "tgv", "wavelet+tv", "spectrum", "identity", "differences")),
    *(("radial", options) for options in ("--prior wavelet --wavelet db2 --shifts 1 --solver fista", "--prior wavelet --solver primal-dual", "--prior wavelet --lambda sure", "--lambda 0.01", "--coils walsh",
                                          "--coils nlinv", "--coils rss", "--method gridding", "--method adjoint", "--precision double",
                                          "--noise-map n.h5 --replicas 8")),
    ("radial, maps in the file", ""),
    ("radial, full, 1 coil", ""),
    ("radial, 48^2", "--operator direct"),
    ("radial, 48^2", "--operator direct --method adjoint --precision double"),
    ("radial, 24 coils", ""),
    ("spiral, field map", ""),
    ("lines, 1 coil", ""),
    ("lines, R = 2", ""),
    ("lines, R = 2", "--prior spectrum"),
    ("lines, R = 2", "--coils espirit --map-sets 2"),
    ("lines, R = 2, joint maps", ""),
    ("lines, partial Fourier", ""),
    ("Poisson disc, R = 3", ""),
    ("series", ""),
    *(("series", f"--prior {prior}") for prior in ("temporal", "llr", "nuclear", "wavelet", "tv")),
    ("series", "--prior temporal --window 4"),
    ("frames of lines", ""),
    ("koosh ball, 1 coil", ""),
    ("koosh ball, R = 4", ""),
    ("koosh ball, R = 4", "--prior tv"),
    ("koosh ball, R = 4", "--prior tgv"),
    ("stack of stars", ""),
    ("lines, 3D, R = 2 x 2", ""),
    ("lines, 3D", ""),
]
LARGE_IMAGES = [("radial, 256^2", ""), ("radial, 256^2", "--prior tgv"), ("radial, 256^2", "--lambda sure"), ("radial, 320^2, 32 coils", ""),
                ("lines, 256^2, R = 3", ""), ("series, 128^2", ""), ("series, 128^2", "--prior llr"), ("koosh ball, 64^3, R = 4", ""),
                ("koosh ball, 64^3, R = 4", "--prior tv"), ("koosh ball, 96^3, R = 6", ""), ("koosh ball, 128^3, 1 coil", ""),
                ("lines, 96^3, R = 2 x 2", "")]

# Atoms of the molecules that random_ball writes. Their charges are +0.4 e and -0.4 e in turn.
BALLS = {"300 atoms": 300, "3,000 atoms": 3000, "20,000 atoms": 20000, "100,000 atoms": 100000}
IN_CELL = "--cell 40,40,40"

# Options of cionize for each molecule; there is a map unless they say otherwise; {frames}: a trajectory of 6 frames; {points}: a file of 20,000 points.
MAPS = [
    ("3,000 atoms", "--method exact"),
    ("3,000 atoms", "--method exact --precision double"),
    ("3,000 atoms", "--method fast"),
    ("20,000 atoms", "--method fast"),
    ("20,000 atoms", "--method fast --precision double --accuracy 1e-9"),
    ("20,000 atoms", "-o map.dx"),
    ("20,000 atoms", "-o map.cube"),
    ("20,000 atoms", "-o map.h5 --picture p.png"),
    ("20,000 atoms", "--method cutoff:12"),
    ("3,000 atoms", f"--method fast {IN_CELL}"),
    ("3,000 atoms", f"--method cutoff:10 {IN_CELL}"),
    ("3,000 atoms", f"--smooth 1 {IN_CELL} --boundary vacuum"),
    ("3,000 atoms", "--solvent"),
    ("3,000 atoms", "--solvent --non-linear --spacing 0.8"),
    ("3,000 atoms", "--solvent --spacing 0.8 --energies e.json --ligand 'serial 1 to 200' --energy-error"),
    ("300 atoms", f"--solvent {IN_CELL} --spacing 0.7"),
    ("20,000 atoms", "--points atoms --points-out p.csv"),
    ("20,000 atoms", "--points {points} --field --points-out p.h5"),
    ("3,000 atoms", "--points atoms --method exact --points-out p.csv"),
    ("3,000 atoms", f"--points atoms {IN_CELL} --points-out p.csv"),
    ("3,000 atoms", "--field-map f.h5 --spacing 1"),
    ("3,000 atoms", "--place SOD:20 --place CLA:20 --water solute -o i.pdb"),
    ("3,000 atoms", f"--place SOD:8 --place CLA:8 {IN_CELL} --water solute -o i.pdb"),
    ("20,000 atoms", "--place SOD:200 --place CLA:200 --ion-ion 5 --water solute -o i.pdb"),
    ("3,000 atoms", "--solvent --spacing 0.8 --place SOD:20 -o i.pdb"),
    ("3,000 atoms", "--trajectory {frames} --method fast"),
    ("3,000 atoms", "--trajectory {frames} --method exact --spacing 1 --deviation d.mrc"),
    ("3,000 atoms", "--trajectory {frames} --solvent --spacing 1 --energies e.csv"),
]
LARGE_MAPS = [("20,000 atoms", "--method exact"), ("100,000 atoms", "--method fast"), ("100,000 atoms", "--method cutoff:12"),
              ("100,000 atoms", "--solvent --spacing 0.6"), ("100,000 atoms", "--points atoms --points-out p.h5"),
              ("100,000 atoms", "--place SOD:1000 --place CLA:1000 --ion-ion 5 --water solute -o i.pdb"),
              ("20,000 atoms", "--trajectory {frames} --method fast"), ("20,000 atoms", "--trajectory {frames} --method exact --spacing 1")]

FRAMES, POINTS = 6, 20000


# ---- what they read ----

def random_ball(path, atoms):
    """Points of a jittered lattice, as dense as a protein, about the origin."""
    draw, step = random.Random(1), 10 ** (1 / 3)
    reach = math.ceil((3 * atoms / (4 * math.pi)) ** (1 / 3)) + 2
    sites = sorted(((i - 0.22) ** 2 + (j - 0.31) ** 2 + (k - 0.44) ** 2, k, j, i) for i in range(-reach, reach + 1)
                   for j in range(-reach, reach + 1) for k in range(-reach, reach + 1))[:atoms]
    places = [[step * n + draw.uniform(-0.3, 0.3) for n in (i, j, k)] for _, k, j, i in sites]
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z) in enumerate(places, 1):
            stream.write(f"ATOM {n} X UNK {1 + n // 10} {x:.3f} {y:.3f} {z:.3f} {0.4 if n % 2 else -0.4} 1.7\n")
    return places


def write_frames(path, places):
    """A DCD file without cells."""
    def record(body):
        return struct.pack("<i", len(body)) + body + struct.pack("<i", len(body))
    draw, numbers = random.Random(2), [0] * 20
    numbers[:4], numbers[19] = (FRAMES, 1, 1, FRAMES), 24
    with open(path, "wb") as stream:
        stream.write(record(b"CORD" + struct.pack("<20i", *numbers)) + record(struct.pack("<i80s", 1, b"frames".ljust(80))) +
                     record(struct.pack("<i", len(places))))
        for _ in range(FRAMES):
            for axis in range(3):
                stream.write(record(struct.pack(f"<{len(places)}f", *(place[axis] + draw.uniform(-0.2, 0.2) for place in places))))


def make_input(build, program, name, folder):
    """Writes what a case reads; its path and further files by name."""
    if program == "mri_recon":
        path = folder / "scan.h5"
        subprocess.run([build / "apps/mri_phantom/mri_phantom", "-q", "-o", path, *map(str, SCANS[name])], check=True, stdin=subprocess.DEVNULL)
        return path, {}
    places, draw, path = random_ball(folder / "ball.pqr", BALLS[name]), random.Random(3), folder / "ball.pqr"
    write_frames(folder / "frames.dcd", places)
    with open(folder / "points.csv", "w", encoding="ascii") as stream:
        for _ in range(POINTS):
            stream.write(" ".join(f"{axis + draw.uniform(-2, 2):.3f}" for axis in draw.choice(places)) + "\n")
    return path, {"frames": folder / "frames.dcd", "points": folder / "points.csv"}


def cases(large):
    """[(name, program, input, options)], those with the same input one after the other."""
    pairs = [("mri_recon", IMAGES + (LARGE_IMAGES if large else [])), ("cionize", MAPS + (LARGE_MAPS if large else []))]
    found = [(f"{made} {options}".strip(), program, made, options) for program, rows in pairs for made, options in rows]
    order = {key: n for n, key in reversed(list(enumerate((program, made) for _, program, made, _ in found)))}
    if len({name for name, *_ in found}) < len(found):
        sys.exit("two cases have the same name")
    return sorted(found, key=lambda case: order[case[1:3]])
