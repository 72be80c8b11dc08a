#!/usr/bin/env python3
"""Checks the rules of the source tree, and that each check can fail. docs/ and the comments below give the reasons.

    test_structure.py SOURCE

First, each rule is tried on a small tree with a planted violation; then all rules on SOURCE.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CODE = {".c", ".h", ".inc", ".cu", ".cuh"}
# Samples, records and fixtures: generated, or as long as their contents.
DATA = {".pqr", ".json", ".dx", ".cube", ".mrc", ".h5", ".png", ".gz", ".csv"}
MAX_LINES = 500
# File: the reason why it may be longer.
LONG_FILES = {
    "libcore/src/picture/canvas_font.inc": "generated glyphs",
    "apps/cionize/cionize_options.c": "the table of options",
    "apps/mri_recon/recon_options.c": "the table of options",
    "docs/man/cionize.1": "the table of options, which update_options.py writes, and what belongs to it",
    "docs/man/mri_recon.1": "the same",
    "kernels/fourier_sum/fourier_sum_products.cu": "one kernel: all its parts share the layout of its data",
    "validation/structure/test_structure.py": "a rule after the other, each with what it must find",
    "validation/unit/apps/cionize/maps/test_draw_slices.c": "a test for each part of the picture, and the code that reads it back",
}
# File names that may occur in every folder.
COMMON_NAMES = {"CMakeLists.txt", "README.md", ".gitignore", "run", "requirements.txt"}


class Tree:
    """The files of a source tree: those that git tracks or would track; without git, all outside build folders."""

    def __init__(self, root, long_files):
        self.root = pathlib.Path(root)
        self.long_files = long_files
        self.files = sorted(f for f in self._list() if (self.root / f).is_file())
        self._texts = {}

    def _list(self):
        git = ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"]
        try:
            if (self.root / ".git").exists():
                return subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip("\0").split("\0")
        except (OSError, subprocess.CalledProcessError):
            pass
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [d for d in folders if d not in (".git", "out", "__pycache__") and not d.startswith("build")]
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def text(self, file):
        if file not in self._texts:
            self._texts[file] = (self.root / file).read_bytes().decode(errors="replace")
        return self._texts[file]

    def code(self, *folders):
        return [f for f in self.files if pathlib.PurePath(f).suffix in CODE and f.startswith(folders)]

    def cmake(self):
        return [f for f in self.files if f.endswith(("CMakeLists.txt", ".cmake"))]


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def without_comments(text):
    """The code with comments blanked out and strings emptied; lines keep their places."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
    return token.sub(lambda m: blank(m) if m.group(0)[0] == "/" else '""', text)


def lines_with(pattern, text):
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match.group(0).strip()


def includes(text):
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', text, re.MULTILINE)


# ---- the rules: each yields (place, what is wrong) ----

def rule_dependencies(tree):
    """Dependencies point one way: libcore <- kernels <- apps; validation may use all."""
    layers = ("libcore", "kernels", "apps")
    homes = {}
    for file in tree.code(*(layer + "/" for layer in layers)):
        homes.setdefault(os.path.basename(file), set()).add(file.split("/")[0])
    for rank, layer in enumerate(layers):
        for file in tree.code(layer + "/"):
            for name in includes(tree.text(file)):
                for home in homes.get(os.path.basename(name), ()):
                    if home not in layers[: rank + 1]:
                        yield file, f"includes {name} of {home}"
                if "validation/" in name or name.startswith("../"):
                    yield file, f"includes {name}"


def rooms_of(tree):
    """The folders of each program in the order of docs/architecture.md."""
    text = tree.text("docs/architecture.md") if "docs/architecture.md" in tree.files else ""
    apps = re.search(r"^apps/.*\n((?:  .*\n)*)", text, re.MULTILINE)
    for program, rooms in re.findall(r"^  (\w+)/ .*\n((?:    .*\n)*)", apps.group(1) if apps else "", re.MULTILINE):
        yield f"apps/{program}", [f"apps/{program}/{room}" for room in re.findall(r"^    (\w+)/ ", rooms, re.MULTILINE)]


def rule_folders_have_an_order(tree):
    """A folder of a program includes only folders before it, in the order of docs/architecture.md. A header beside the folders
    counts with the last folder that it includes."""
    homes = {os.path.basename(file): file for file in tree.code("apps/") if file.endswith(".h")}
    for program, rooms in rooms_of(tree):
        def rank(file, seen=()):
            if (folder := os.path.dirname(file)) != program:
                return rooms.index(folder) if folder in rooms else len(rooms)
            used = {homes.get(os.path.basename(name), "") for name in includes(tree.text(file))} - {*seen, file}
            return max([rank(f, (*seen, file)) for f in used if f.startswith(program + "/")], default=-1)
        for file in tree.code(program + "/"):
            folder = os.path.dirname(file)
            if folder != program and folder not in rooms:
                yield file, "is in a folder that docs/architecture.md does not list"
            for name in includes(tree.text(file)) if folder in rooms else ():
                used = homes.get(os.path.basename(name), "")
                if used.startswith(program + "/") and rank(used) > rooms.index(folder):
                    yield file, f"includes {name}, which comes later"


def rule_no_header_for_all(tree):
    """A folder of mri_recon sees the settings and the headers that it uses: no header of the program but the scan's has more than
    12 includers, and no more than 12 files know all settings."""
    files = tree.code("apps/mri_recon/")
    own = {os.path.basename(file) for file in files if file.endswith(".h")} - {"mri_scan.h"}
    users = {}
    for file in files:
        used = {os.path.basename(name) for name in includes(tree.text(file))} & own
        for name in used | set(re.findall(r"\brecon_settings\b", tree.text(file))):
            users[name] = users.get(name, 0) + 1
            if users[name] > 12:
                yield file, f"uses {name}, as {users[name] - 1} others do"


def rule_kernels_use_backend(tree):
    """Kernels use only those private headers of libcore that are in backend/."""
    private = {os.path.basename(file): file.split("/")[2] for file in tree.code("libcore/src/") if file.count("/") == 3}
    for file in tree.code("kernels/"):
        for name in includes(tree.text(file)):
            if not name.startswith("voxfield/") and private.get(os.path.basename(name), "backend") != "backend":
                yield file, f"includes {name}, of libcore/src/{private[os.path.basename(name)]}"


# Words of MRI, chemistry and electrostatics. Parts of identifiers count (vf_coulomb_sum); "atomic" does not match
# "atom".
PHYSICS = set("""molecule molecules molecular atom atoms charge charges charged coulomb electrostatic electrostatics potential
    potentials ion ions protein proteins ligand solvent chemistry chemical pqr pdb angstrom angstroms cionize
    mri kspace coil coils trajectory scanner spin spins acquisition acquisitions ismrmrd""".split())


def rule_no_physics_in_libcore(tree):
    """libcore knows no physics."""
    for file in tree.code("libcore/"):
        text = tree.text(file).replace("free of charge", "")
        for number, line in enumerate(text.splitlines(), 1):
            words = {w.lower() for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", line)} | set(re.findall(r"[a-z]+", line.lower()))
            found = sorted(words & PHYSICS) + re.findall(r"k-space|mri_recon", line.lower())
            if found:
                yield f"{file}:{number}", f"mentions {', '.join(found)}"


CALL = r"(?<![\w.>])(?:{})\s*\("
STREAM_IO = "fopen|freopen|fdopen|open|openat|creat|fread|fwrite|fgets|fputs|fputc|putc|fscanf|fclose|read|write|pread|pwrite|mmap"
PRINTING = "printf|vprintf|fprintf|vfprintf|dprintf|puts|putchar|perror|psignal"


def rule_kernels_do_no_io(tree):
    """Kernels do no file I/O and print nothing (text goes into messages by snprintf)."""
    for file in tree.code("kernels/"):
        code = without_comments(tree.text(file))
        for number, found in lines_with(CALL.format(STREAM_IO + "|" + PRINTING), code):
            yield f"{file}:{number}", f"calls {found.rstrip('(')}"
        for name in includes(tree.text(file)):
            if re.search(r"voxfield/(output|hdf5_io|report|canvas|figure)\.h|^(hdf5|png|zlib|fcntl|unistd)\.h", name):
                yield file, f"includes {name}"


def rule_no_cuda_in_apps(tree):
    """The programs contain no CUDA."""
    for file in tree.files:
        if file.startswith("apps/") and file.endswith((".cu", ".cuh")):
            yield file, "is CUDA"
    for file in tree.code("apps/"):
        code = without_comments(tree.text(file))
        for number, found in lines_with(r"\bcuda[A-Z_]\w*|\bcu[A-Z]\w+|<<<|__global__|__device__|\bVF_HAVE_CUDA\b", code):
            yield f"{file}:{number}", f"uses {found}"
        for name in includes(tree.text(file)):
            if re.match(r"cu(da|fft|b/)", name):
                yield file, f"includes {name}"


def rule_one_way_to_cuda(tree):
    """Builds with and without CUDA differ by the files that CMake lists, not by VF_HAVE_CUDA in code."""
    for file in tree.code(""):
        for number, found in lines_with(r"\bVF_HAVE_CUDA\b", without_comments(tree.text(file))):
            yield f"{file}:{number}", f"uses {found}: define what is missing in no_cuda.c or kernel_no_cuda.c"


# Kernel files of the CPU, where memory has addresses, and of OpenCL, whose addresses are made up so that one can compute with them.
CPU_FILES = re.compile(r"_(cpu\w*|ref|simd\w*|baseline|avx2|avx512|isa|axis|opencl)\.\w+$|\.(inc|cu|cuh)$")
PRIMITIVES = tuple(f"libcore/src/{folder}/" for folder in
                   ("copy", "fft", "histogram", "matrix_product", "reduce", "scan", "sort", "stencil", "vectors"))
# Programs that process data in pieces.
IN_PIECES = ("apps/cionize/potential/average.c", "apps/cionize/potential/compute_potential.c", "apps/mri_recon/solve/")


def rule_device_memory_is_opaque(tree):
    """Only a backend computes with addresses of device memory; front ends use vf_offset and vf_array_at."""
    for file in tree.code("kernels/", *IN_PIECES, *PRIMITIVES):
        if CPU_FILES.search(file):
            continue
        code = without_comments(tree.text(file))
        for number, found in lines_with(r"\((?:const )?char \*\)\s*\(?\s*[\w.>\[\]-]+\s*\)?\s*\+|\bchar \*\w+ = |\(uintptr_t\)", code):
            yield f"{file}:{number}", f"computes an address: {found}"


def rule_library_is_quiet(tree):
    """The library never ends the process and never prints on its own (progress goes to the caller's stream)."""
    ends = "exit|_exit|_Exit|quick_exit|abort|assert|raise|kill|system|errx?|warnx?"
    prints = "printf|vprintf|puts|putchar|perror|psignal"
    for file in tree.code("libcore/", "kernels/"):
        code = without_comments(tree.text(file))
        own = {"kill", "_exit"} if file.startswith("libcore/src/sealed/") else set()  # its child's end, not the program's
        for number, found in lines_with(CALL.format(ends + "|" + prints), code):
            if found.rstrip("(").strip() in own:
                continue
            yield f"{file}:{number}", f"calls {found.rstrip('(').strip()}"
        for number, found in lines_with(r"\b(stdout|stderr)\b|\bassert\.h\b", code):
            yield f"{file}:{number}", f"uses {found}"


def rule_texts_are_bounded(tree):
    """Texts made of pieces go through vf_append: snprintf returns what would have been written, and then
    `size - used` is a huge number."""
    counts = r"\+=\s*(?:\(\w+\)\s*)?v?snprintf\b|\bv?snprintf\([^,()]+\+[^,()]+,[^,]*[\w\])] - "
    for file in tree.code(""):
        if file == "libcore/src/files/append.c":
            continue
        code = without_comments(tree.text(file))
        pattern = counts if file.startswith("validation/") else counts + r"|\bv?sprintf\s*\("
        for number, found in lines_with(pattern, code):
            yield f"{file}:{number}", f"may leave its array: {found}"


def rule_unique_names(tree):
    """A file name identifies one file."""
    places = {}
    for file in tree.files:
        if not file.startswith("validation/faults/corpus/"):
            places.setdefault(os.path.basename(file), []).append(file)
    for name, files in sorted(places.items()):
        if len(files) > 1 and name not in COMMON_NAMES:
            yield files[0], f"has the name of {', '.join(files[1:])}"


def rule_unit_tests_mirror_the_source(tree):
    """The folders of validation/unit are named as the source's."""
    sources = set()
    for file in tree.code("libcore/src/", "kernels/", "apps/"):
        sources |= {str(folder) for folder in pathlib.PurePath(file.replace("libcore/src/", "libcore/")).parents}
    for file in tree.files:
        folder = os.path.dirname(file.removeprefix("validation/unit/"))
        if file.startswith("validation/unit/") and folder and folder not in sources:
            yield file, f"is in a folder for tests of {folder}, which there is not"


def rule_everything_is_built(tree):
    """Every source is in some CMakeLists.txt, every other piece of code is included somewhere, every test is
    registered."""
    listed = set()
    for file in tree.cmake():
        listed |= set(re.findall(r"[\w.+-]+", re.sub(r"#[^\n]*", "", tree.text(file))))
    included = {os.path.basename(name) for file in tree.code("") for name in includes(tree.text(file))}
    for file in tree.cmake():
        included |= {f"{name}_isa.inc" for name in re.findall(r"^voxfield_instruction_sets\((\w+)", tree.text(file), re.M)}
    for file in tree.files:
        name = os.path.basename(file)
        stem, suffix = os.path.splitext(name)
        if suffix in (".c", ".cu"):
            # vf_unit_test(test_x) names the program; its source has the same name.
            if name not in listed and stem not in listed and file.split("/")[0] in ("libcore", "kernels", "apps", "validation"):
                yield file, "is in no CMakeLists.txt"
        elif suffix in (".inc", ".cuh") or (suffix == ".h" and "/include/" not in file):
            if name not in included:
                yield file, "is included nowhere"
        elif re.match(r"(test|check)_.*\.(py|sh)$", name) and file.startswith("validation/") and name not in listed:
            yield file, "is in no CMakeLists.txt, so it never runs"


def public_headers(tree):
    headers = [f for f in tree.files if f.startswith("libcore/include/")]
    for file in tree.files:
        parts = file.split("/")
        if parts[0] == "kernels" and len(parts) == 3 and parts[2] == parts[1] + ".h":
            headers.append(file)
        if parts[0] == "apps" and len(parts) == 3 and parts[2] in ("mri_recon.h", "cionize.h", "programs.h"):
            headers.append(file)
    return headers


def rule_public_headers_say_what_they_are(tree):
    """A public header begins with a comment on its purpose, has an include guard, and compiles as C++."""
    for file in public_headers(tree):
        text = tree.text(file)
        if not re.match(r"/\* \S[^\n]{20}", text):
            yield file, "does not begin with a comment on its purpose"
        if not re.search(r"#ifndef (VOXFIELD_\w+_H)\n#define \1\n", text):
            yield file, "has no include guard VOXFIELD_..._H"
        declares = re.search(r"\);", without_comments(text))
        if declares and '#ifdef __cplusplus\nextern "C" {' not in text:
            yield file, 'has no extern "C" for C++'


def rule_no_long_files(tree):
    """A file over 500 lines needs a reason."""
    for file in tree.files:
        if pathlib.PurePath(file).suffix in DATA or file.startswith("validation/faults/corpus/"):
            continue
        lines = tree.text(file).count("\n")
        if lines > MAX_LINES and file not in tree.long_files:
            yield file, f"has {lines} lines, more than {MAX_LINES}, and no reason in this test"
    for file in tree.long_files:
        if file not in tree.files or tree.text(file).count("\n") <= MAX_LINES:
            yield file, "has an exception for its length in this test, but does not need it"


def rule_functions_fit_a_screen(tree):
    """A function in C has at most 60 lines. GPU kernels may need more: their variables are the registers."""
    for file in tree.code("libcore/", "kernels/", "apps/"):
        begin = None
        for number, line in enumerate(tree.text(file).split("\n") if not file.endswith((".cu", ".cuh")) else ()):
            if line == "{":
                begin = number
            elif line.startswith("}") and begin is not None:
                if number - begin - 1 > 60:
                    yield file, f"line {begin}: a function of {number - begin - 1} lines"
                begin = None


def rule_examples_are_short(tree):
    """An example is one file of less than 80 lines that includes only voxfield.h, and the headers of programs as functions."""
    for file in tree.code("examples/"):
        lines = tree.text(file).count("\n")
        if lines >= 80:
            yield file, f"has {lines} lines, not less than 80"
        for name in includes(tree.text(file)):
            if "voxfield" in name and name not in ("voxfield/voxfield.h", "voxfield/mri_recon.h", "voxfield/cionize.h"):
                yield file, f"includes {name}"


# Composed of pieces, so this file does not match itself.
PRIVATE_PATHS = re.compile(
    r"(?<![\w.~$}/-])/(?:" + "|".join(("wo" + "rk", "ho" + "me/\\w+", "ro" + "ot", "Us" + "ers/\\w+")) + r")\b(?=/|\s|$|['\"`:;,)])"
    + r"|\.\./sha" + r"red\b|\.lib" + r"rary/")


def rule_no_private_paths(tree):
    """No file names a path on somebody's own machine."""
    for file in tree.files:
        if pathlib.PurePath(file).suffix not in {".h5", ".png", ".gz", ".mrc"}:
            for number, found in lines_with(PRIVATE_PATHS, tree.text(file)):
                yield f"{file}:{number}", f"names {found}"


# Generators of their own, and numbers that differ from run to run.
RANDOM_FIXTURES = {"validation/random_fixture.h", "validation/seeds.py", "validation/soak.py"}  # the last one sets the seeds
OTHER_RANDOM = re.compile(
    r"\b(?:s?rand|srandom|[delm]rand48)\(|\b(\w+) \^= \1 <<|\b(?:1664525|1103515245|6364136223846793005)\b|\bmt19937\b"
    r"|\b(?:uniform|splitmix\w*)\([^;()]*\)\s*\{|\bdef (?:uniform|splitmix\w*)\b"
    r"|\bdefault_rng\(\)|\brandom\.Random\(\)|\brandom\.seed\(|\bnumpy\.random\.(?!default_rng)|\bVOXFIELD_SEED\b"
    r"|^.*\b(?i:seed|random_state|rng|draw)\b.*(?:\btime\(|\bgetpid\(|\btime_ns\(|\burandom\().*$", re.MULTILINE)


def rule_one_size_of_teams(tree):
    """OpenMP ends and begins threads whenever a team has another size (voxfield/team_size.h)."""
    other = {"libcore/src/device/host_copy.c"}  # copies to a GPU: a few threads are enough, and the others sleep
    size = r"vf_threads_for\(|vf_threads_of_plan\("
    for file in tree.files:
        if file.split("/")[0] not in ("libcore", "kernels", "apps", "data") or pathlib.Path(file).suffix not in CODE or file in other:
            continue
        text = without_comments(tree.text(file)).replace("\\\n", " ")
        by_name = set(re.findall(rf"\b(?:int|threads) (\w+) = (?:[^;?]*\? *)?(?:{size})", text))
        by_name |= {name for name, body in re.findall(r"^static int (\w+)\([^)]*\)\n\{(.*?)^\}", text, re.M | re.S)
                    if re.search(rf"return (?:{size})", body)}
        for line in re.findall(r"(?:#pragma|_Pragma\(\") *omp parallel.*", text):
            asked = re.search(r"num_threads\((\w+)", line)
            if not asked or not re.fullmatch("vf_threads_for|vf_threads_of_plan", asked[1]) and asked[1] not in by_name:
                yield file, f"'{line.strip()}' does not take its number of threads from vf_threads_for"


def rule_one_source_of_random_numbers(tree):
    """Tests and benchmarks draw from random_fixture.h or seeds.py, so that VOXFIELD_SEED repeats each of them."""
    for file in tree.files:
        if not file.startswith("validation/") or file in RANDOM_FIXTURES or file.startswith("validation/structure/"):
            continue
        if pathlib.PurePath(file).suffix in CODE | {".py"}:
            text = tree.text(file)
            for number, found in lines_with(OTHER_RANDOM, text if file.endswith(".py") else without_comments(text)):
                yield f"{file}:{number}", f"has random numbers of its own: {found}"


RULES = [value for name, value in list(globals().items()) if name.startswith("rule_")]


# ---- each rule can fail ----

HEADER = """/* Voxfield - something that is explained here at some length. */
#ifndef VOXFIELD_{0}_H
#define VOXFIELD_{0}_H
#ifdef __cplusplus
extern "C" {{
#endif
int vf_{0}(void);
#ifdef __cplusplus
}}
#endif
#endif
"""
CLEAN = {
    "CMakeLists.txt": "add_library(v libcore/src/status.c kernels/sum/sum.c kernels/sum/sum_cuda.cu)\nadd_executable(p prog_main.c)\n",
    "libcore/include/voxfield/status.h": HEADER.format("STATUS"),
    "libcore/src/status.c": '#include "voxfield/status.h"\n#include <stdatomic.h>\n/* exit(1), printf("x") in words */\n'
                            'static const char *t = "abort()";\nint f(int*x){return snprintf(0,0,t)+atomic_load(x)+my_exit(1);}\n',
    "libcore/src/canvas_font.inc": "1\n",
    "libcore/src/font_user.h": '#include "canvas_font.inc"\n#include "font_user.h"\n',
    "libcore/src/device/context_internal.h": '#include "context_internal.h"\n',
    "kernels/sum/sum.h": HEADER.format("SUM"),
    "kernels/sum/sum.c": '#include "sum.h"\n#include "voxfield/status.h"\nint g(void){return snprintf(0,0,"");}\n',
    "kernels/sum/sum_cuda.cu": "#include <cuda_runtime.h>\n",
    "apps/cionize/prog_main.c": '#include "sum.h"\n#include "voxfield/status.h"\nint main(void){printf("cudaMalloc");return 0;}\n',
    "apps/cionize/first/a.h": '#include "leaf.h"\n',
    "apps/cionize/leaf.h": "int x;\n",
    "apps/cionize/after_first.h": '#include "first/a.h"\n',
    "apps/cionize/second/b.h": '#include "first/a.h"\n#include "after_first.h"\n#include "leaf.h"\n',
    "apps/cionize/of_all.h": '#include "second/b.h"\n#include "first/a.h"\n#include "of_all.h"\n',
    "docs/architecture.md": "apps/  programs\n  cionize/ a_main.c\n    first/  a\n    second/  b\nkernels/ the sums\n",
    "docs/font.md": "line\n" * (MAX_LINES + 1),
    "data/README.md": "see /usr/local/cuda, /tmp and ../data\n",
}
MANY = [f"apps/mri_recon/user{number}.c" for number in range(10, 22)]
CLEAN.update({file: '#include "part.h"\nrecon_settings *s;\n' for file in MANY}, **{"apps/mri_recon/part.h": "\n"})
CLEAN["CMakeLists.txt"] += f"add_executable(r {' '.join(MANY)})\n"

# Rule: file and text that break it, and a word of the complaint.
PLANTED = [
    (rule_dependencies, "libcore/src/status.c", '#include "sum.h"\n', "sum.h of kernels"),
    (rule_dependencies, "kernels/sum/sum.c", '#include "../../apps/cionize/x.h"\n', "x.h"),
    (rule_folders_have_an_order, "apps/cionize/first/c.c", '#include "second/b.h"\n', "second/b.h"),
    (rule_folders_have_an_order, "apps/cionize/first/c.c", '#include "of_all.h"\n', "of_all.h"),
    (rule_folders_have_an_order, "apps/cionize/third/c.c", "int x;\n", "does not list"),
    (rule_kernels_use_backend, "kernels/sum/sum.c", '#include "device/context_internal.h"\n', "context_internal.h"),
    (rule_no_physics_in_libcore, "libcore/src/status.c", "int atom_count;\n", "atom"),
    (rule_no_physics_in_libcore, "libcore/src/status.c", "/* the molecule */\n", "molecule"),
    (rule_no_physics_in_libcore, "libcore/src/status.c", "int vf_coulomb_x;\n", "coulomb"),
    (rule_no_physics_in_libcore, "libcore/src/status.c", "int CoilMap;\n", "coil"),
    (rule_no_physics_in_libcore, "libcore/src/status.c", "/* k-space */\n", "k-space"),
    (rule_kernels_do_no_io, "kernels/sum/sum.c", 'int h(void){return fopen("x","r")!=0;}\n', "fopen"),
    (rule_kernels_do_no_io, "kernels/sum/sum_cuda.cu", "__global__ void k(){ printf(0); }\n", "printf"),
    (rule_kernels_do_no_io, "kernels/sum/sum.c", '#include "voxfield/output.h"\n', "output.h"),
    (rule_no_cuda_in_apps, "apps/cionize/kernel.cu", "\n", "is CUDA"),
    (rule_no_cuda_in_apps, "apps/cionize/prog_main.c", "#include <cuda_runtime.h>\n", "cuda_runtime"),
    (rule_no_cuda_in_apps, "apps/cionize/prog_main.c", "int x(void){return cudaMalloc(0,0);}\n", "cudaMalloc"),
    (rule_one_way_to_cuda, "kernels/sum/sum.c", "#ifdef VF_HAVE_CUDA\n#endif\n", "VF_HAVE_CUDA"),
    (rule_device_memory_is_opaque, "kernels/sum/sum.c", "void *h(char *x){return (const char *)x + 8;}\n", "address"),
    (rule_device_memory_is_opaque, "libcore/src/sort/sort.c", "int h(char *x, char *y){return (uintptr_t)x < (uintptr_t)y;}\n", "address"),
    (rule_device_memory_is_opaque, "kernels/sum/sum.c", "void *h(vf_array *x){return (char *)x->data + 8;}\n", "address"),
    (rule_device_memory_is_opaque, "apps/cionize/potential/average.c", "void *h(void *x){return (char *)x + 8;}\n", "address"),
    (rule_library_is_quiet, "libcore/src/status.c", "void h(void){exit(1);}\n", "exit"),
    (rule_library_is_quiet, "kernels/sum/sum.c", "void h(void){abort ();}\n", "abort"),
    (rule_library_is_quiet, "libcore/src/status.c", "void h(void){_exit(1);}\n", "_exit"),
    (rule_library_is_quiet, "libcore/src/status.c", 'void h(void){fprintf(stderr, "x");}\n', "stderr"),
    (rule_library_is_quiet, "libcore/src/status.c", 'void h(void){printf("x");}\n', "printf"),
    (rule_library_is_quiet, "libcore/src/status.c", "void h(int x){assert(x);}\n", "assert"),
    (rule_texts_are_bounded, "libcore/src/status.c", 'void h(char*t){size_t n=0;n += (size_t)snprintf(t,9,"");}\n', "leave"),
    (rule_texts_are_bounded, "kernels/sum/sum.c", 'void h(char*t,size_t n){snprintf(t + n, 9 - n, "");}\n', "leave"),
    (rule_texts_are_bounded, "kernels/sum/sum.c", 'void h(char*t){sprintf(t, "");}\n', "leave"),
    (rule_unique_names, "apps/cionize/status.c", "\n", "status.c"),
    (rule_unit_tests_mirror_the_source, "validation/unit/kernels/add/a.h", '#include "a.h"\n', "tests of kernels/add"),
    (rule_everything_is_built, "libcore/src/forgotten.c", "\n", "in no CMakeLists"),
    (rule_everything_is_built, "kernels/sum/forgotten.inc", "\n", "included nowhere"),
    (rule_everything_is_built, "validation/apps/test_forgotten.py", "\n", "it never runs"),
    (rule_public_headers_say_what_they_are, "libcore/include/voxfield/bare.h", "int x;\n", "begin with a comment"),
    (rule_public_headers_say_what_they_are, "libcore/include/voxfield/bare.h", "/* Voxfield - long enough to be read. */\nint f(int);\n",
     "guard"),
    (rule_public_headers_say_what_they_are, "kernels/sum/sum.h",
     "/* Voxfield - long enough to be read. */\n#ifndef VOXFIELD_A_H\n#define VOXFIELD_A_H\nint f(int);\n#endif\n", "C++"),
    (rule_no_header_for_all, "apps/mri_recon/user_more.c", '#include "part.h"\n', "as 12 others"),
    (rule_no_header_for_all, "apps/mri_recon/user_more.c", "recon_settings *s;\n", "as 12 others"),
    (rule_no_long_files, "docs/long.md", "line\n" * (MAX_LINES + 1), "lines"),
    (rule_no_long_files, "docs/font.md", "line\n", "does not need it"),
    (rule_functions_fit_a_screen, "kernels/sum/long.inc", "int f(void)\n{\n" + "    g();\n" * 61 + "}\n", "61 lines"),
    (rule_examples_are_short, "examples/long.c", "\n" * 80, "lines"),
    (rule_examples_are_short, "examples/inside.c", "#include <voxfield/scan.h>\n", "scan.h"),
    (rule_one_source_of_random_numbers, "validation/unit/a.c", "static double uniform(void)\n{\n    return 0;\n}\n", "uniform"),
    (rule_one_source_of_random_numbers, "validation/unit/a.c", "int f(void){return rand() % 9;}\n", "rand"),
    (rule_one_source_of_random_numbers, "validation/unit/a.c", "void f(void){seed = (uint64_t)time(NULL);}\n", "time"),
    (rule_one_source_of_random_numbers, "validation/unit/a.c", "void f(void){srand((unsigned)getpid());}\n", "srand"),
    (rule_one_source_of_random_numbers, "validation/unit/a.h", "void f(void){x ^= x << 13;}\n", "<<"),
    (rule_one_source_of_random_numbers, "validation/apps/a.py", "SEED = time.time_ns() % 9\n", "time_ns"),
    (rule_one_source_of_random_numbers, "validation/apps/a.py", "seed = int.from_bytes(os.urandom(4))\n", "urandom"),
    (rule_one_source_of_random_numbers, "validation/apps/a.py", "rng = numpy.random.default_rng()\n", "default_rng"),
    (rule_one_size_of_teams, "kernels/sum/sum.c", "#pragma omp parallel for\n", "vf_threads_for"),
    (rule_one_size_of_teams, "kernels/sum/sum.c", "#pragma omp parallel for num_threads(vf_context_threads(ctx))\n", "vf_threads_for"),
    (rule_one_size_of_teams, "kernels/sum/sum.c", "int threads = n < 4 ? n : 4;\n#pragma omp parallel num_threads(threads)\n", "vf_threads_for"),
    (rule_no_private_paths, "docs/a.md", "see /ho" + "me/ann/x\n", "/ho"),
    (rule_no_private_paths, "docs/a.md", "in '/wo" + "rk/main'\n", "/wo"),
    (rule_no_private_paths, "docs/a.md", "see ../sha" + "red/x\n", "sha"),
]


def plant(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(folder, {"docs/font.md": "a reason"})


def try_rules():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        tree = plant(folder, CLEAN)
        wrong += [f"the clean tree: {rule.__name__}: {place}: {what}" for rule in RULES for place, what in rule(tree)]
    for rule, file, text, word in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            replaces = file.endswith(("_main.c", ".h", ".1", "font.md")) and "include" not in text.split("\n")[0]
            tree = plant(folder, {**CLEAN, file: text if replaces else CLEAN.get(file, "") + text})
            found = [what for place, what in rule(tree) if place.startswith(file)]
            if not any(word in what for what in found):
                wrong.append(f"{rule.__name__} does not detect {text[:60]!r} in {file}: {found}")
    wrong += [f"{rule.__name__} has no planted violation" for rule in RULES if rule not in [p[0] for p in PLANTED]]
    return wrong


def main():
    wrong = try_rules()
    for line in wrong:
        print(f"FAIL: self-test: {line}")
    print(f"self-test: {len(PLANTED)} planted violations, {len(wrong)} not handled")
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2], LONG_FILES)
    violations = 0
    for rule in RULES:
        found = sorted(set(rule(tree)))
        violations += len(found)
        print(f"{'FAIL' if found else 'ok'}: {rule.__name__[5:]}: {rule.__doc__}")
        for place, what in found:
            print(f"    {place}: {what}")
    print(f"{len(tree.files)} files, {violations} violations")
    return 1 if wrong or violations else 0


if __name__ == "__main__":
    sys.exit(main())
