#!/usr/bin/env python3
"""Makes Jupyter notebooks of the examples beside this file, or runs them.

    make_notebooks.py run [NAME ...]          runs their cells, without Jupyter; pictures go to the folder FOLDER, if that variable is set
    make_notebooks.py notebooks FOLDER        writes NAME.ipynb; with their outputs, if nbclient and a kernel are there

An example is Python in cells: `# %%` begins code, `# %% [markdown]` text.
"""
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["radial_scan", "undersampled_scan", "protein"]


def cells_of(name):
    """(kind, text) for each cell."""
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    for marker, body in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text, re.MULTILINE | re.DOTALL):
        yield ("markdown", re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)) if marker else ("code", body.strip())


def run(names):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name in names:
        scope = {"__name__": name}
        for kind, text in cells_of(name):
            if kind == "code":
                exec(compile(text, f"{name}.py", "exec"), scope)  # noqa: S102 - our own files
        if os.environ.get("FOLDER"):
            pyplot.savefig(pathlib.Path(os.environ["FOLDER"], f"{name}.png"), dpi=100)
        pyplot.close("all")


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        cells = [{"cell_type": kind, "metadata": {}, "source": text, "id": f"cell-{n}",
                  **({"outputs": [], "execution_count": None} if kind == "code" else {})} for n, (kind, text) in enumerate(cells_of(name))]
        book = {"cells": cells, "nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}
        path = folder / f"{name}.ipynb"
        path.write_text(json.dumps(book, indent=1), encoding="utf-8")
        try:
            import nbclient
            import nbformat
        except ImportError:
            print(f"{path}: not executed, nbclient is not installed")
            continue
        found = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(found, timeout=600, kernel_name="python3").execute()
        nbformat.write(found, path)
        print(path)


def main():
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:] or NAMES)
    elif sys.argv[1:2] == ["notebooks"] and len(sys.argv) == 3:
        write(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
