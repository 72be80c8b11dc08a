#!/usr/bin/env python3
"""Keeps a part of a run on a GPU (./run gpu), and makes the record of all parts when the last one is there.

    gpu_record.py WORK RESULTS PART
    gpu_record.py --fill-from RECORD.json RESULTS
    gpu_record.py --again PART.json OTHER.json
    gpu_record.py --costs BUILD

WORK holds devices.csv (nvidia-smi), nvcc.txt, digest.txt, digest_cu.txt (of *.cu and *.cuh alone, as time_devices.py has it), digests.txt
and listed_by.txt (of the CUDA sources); with git, also commit.txt and changes.txt. WORK/PART holds what the part left: tests.xml (ctest), TOOL.log and TOOL.status for
each tool of compute-sanitizer, or the reports bench_*.json. The part is kept as RESULTS/parts/gpu-DEVICE-PART.json.

Parts of the same CUDA sources and the same kind of device belong together, whoever made them and when. When all are
there, they become RESULTS/gpu-DEVICE-DATE.json, whose date, driver, toolkit and commit are those of the newest part;
its `parts` has those of each. The tests may come in shares, such as tests-1of2 and tests-2of2, where a machine is lent for some
minutes at a time. Then the parts are removed, unless the record shows a problem: so a part can be done again.
The second form is for a machine that was not lent long enough: it makes the record with the parts that are there, the tests among
them, and takes the others from an older record of the same kind of device. The sources of each part are in `parts`; those of the
record are the tests'. The third form is for tests that failed for a reason that is not in the sources, such as a package that was not
there: PART gets the results of those that passed in OTHER, a run of the same CUDA sources on the same kind of device, and says so
(`again`). The fourth form tells ctest how long the tests of a build folder took in the newest record here, so that it begins
with the longest.

Exits with 1 if the part or the record shows a problem: a failed or skipped test, no tests, an error found by
compute-sanitizer, or no benchmark.
"""
import datetime
import json
import operator
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SKIPPED, TIMED_OUT = 77, 124  # exit statuses: of our tests, and of timeout(1)


def text_of(path):
    return path.read_text(errors="replace").strip() if path.exists() else None


def read_devices(work):
    names = ("name", "driver", "memory", "power_limit", "sm_clock_max")
    rows = [[field.strip() for field in line.split(",")] for line in (text_of(work / "devices.csv") or "").splitlines()]
    return [dict(zip(names, row)) for row in rows if row[0]]


def read_tests(work):
    tests = {"passed": 0, "failed": 0, "skipped": 0, "seconds": {}, "not_passed": {}}
    path = work / "tests.xml"
    for case in xml.etree.ElementTree.parse(path).iter("testcase") if path.exists() else ():
        name, failure, skipped = case.get("name"), case.find("failure"), case.find("skipped")
        if failure is None and skipped is None and case.get("status") == "run":
            tests["passed"] += 1
        else:
            kind = "skipped" if skipped is not None else "failed"
            tests[kind] += 1
            tests["not_passed"][name] = kind
        tests["seconds"][name] = round(float(case.get("time") or 0), 3)
    return tests


def read_sanitizer(work):
    """The result of each tool: "no errors", "errors", "cannot run here", "not finished"."""
    tools = {}
    for tool in TOOLS:
        log, status = text_of(work / f"{tool}.log"), text_of(work / f"{tool}.status")
        if log is None or status is None:
            tools[tool] = {"result": "cannot run here", "summary": "no compute-sanitizer"}
            continue
        found = re.findall(r"^=+ ((?:\w+ )?SUMMARY: .*)$", log, re.MULTILINE)
        summaries = sorted({s for s in found if not s.startswith("LEAK")})  # one a case, most of them alike
        summary = "; ".join(summaries) or None
        refused = re.search(r"Error: (Device not supported|Unable to )[^\n]*|Internal Sanitizer Error[^\n]*", log)
        clean = summaries and all(re.search(r"SUMMARY: 0 (errors|hazards)", s) for s in summaries)
        if refused:
            result, summary = "cannot run here", refused.group(0)
        elif int(status) == SKIPPED:
            result, summary = "cannot run here", "the program skipped its tests"
        elif int(status) == TIMED_OUT:
            result = "not finished"
        elif int(status) == 0 and clean:
            result = "no errors"
        else:
            result = "errors"
        tools[tool] = {"result": result, "summary": summary, "exit_status": int(status)}
    return tools


def read_benchmarks(work):
    return {path.stem: json.loads(path.read_text()) for path in sorted(work.glob("bench_*.json"))}


# The name of a part -> where its results go in the record, and how they are read.
PARTS = {"tests": ("tests", read_tests), "sanitizer": ("compute_sanitizer", read_sanitizer),
         "benchmarks": ("benchmarks", read_benchmarks), "studies": ("benchmarks", read_benchmarks)}


def make_part(work, part):
    devices = read_devices(work)
    commit, changes = text_of(work / "commit.txt"), text_of(work / "changes.txt")
    toolkit = re.search(r"release [\d.]+, V([\d.]+)", text_of(work / "nvcc.txt") or "")
    key, read = PARTS[part.partition("-")[0]]
    return {
        "device": devices[0]["name"] if devices else None,
        "devices": devices,
        "driver": devices[0].get("driver") if devices else None,
        "cuda": toolkit.group(1) if toolkit else None,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit,
        "commit_note": None if commit and not changes else "with changes that are not committed" if commit else "no git here",
        "cuda_sources_sha256": text_of(work / "digest.txt"),
        "cu_and_cuh_sha256": text_of(work / "digest_cu.txt"),
        "cuda_sources_listed_by": text_of(work / "listed_by.txt"),
        "cuda_sources": {path: digest for digest, path in map(str.split, (text_of(work / "digests.txt") or "").splitlines())},
        key: read(work / part),
    }


def problems_of(record):
    """Those of a record, or of a part."""
    tests = record.get("tests")
    problems = [f"test {name}: {kind}" for name, kind in tests["not_passed"].items()] if tests else []
    if tests and tests["passed"] == 0:
        problems.append("no test passed")
    problems += [f"compute-sanitizer {tool}: {entry['summary'] or 'see its log'}"
                 for tool, entry in record.get("compute_sanitizer", {}).items() if entry["result"] == "errors"]
    if not record.get("benchmarks", True):
        problems.append("no benchmark left a report")
    problems += [f"unknown: {key}" for key in ("device", "driver", "cuda", "cuda_sources_sha256") if not record[key]]
    return problems


def name_of(record):
    return "gpu-" + re.sub(r"[^a-z0-9]+", "-", (record["device"] or "unknown").lower()).strip("-")


def write(record, path):
    path.parent.mkdir(exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(part, path)


def part_path(folder, like, part):
    return folder / "parts" / f"{name_of(like)}-{part}.json"


def share_paths(folder, like):
    return sorted((folder / "parts").glob(f"{name_of(like)}-tests-*of*.json"))


def join_shares(folder, new):
    """The tests, if all their shares of the sources of `new` are there; or None."""
    shares = {path.stem.rpartition("-")[2]: json.loads(path.read_text()) for path in share_paths(folder, new)}
    shares = {name: share for name, share in shares.items() if share["cuda_sources_sha256"] == new["cuda_sources_sha256"]}
    for name in shares:
        count = int(name.partition("of")[2])
        wanted = [shares.get(f"{k}of{count}") for k in range(1, count + 1)]
        if all(wanted):
            newest = max(wanted, key=lambda share: share["date"])
            tests = [share["tests"] for share in wanted]
            commits = {share["commit"] for share in wanted}
            return {**newest, "commit_note": "shares of several commits" if len(commits) > 1 else newest["commit_note"],
                    "tests": {key: sum(map(operator.itemgetter(key), tests)) if isinstance(value, int) else
                              {name: one for each in tests for name, one in each.get(key, {}).items()}
                              for key, value in {name: value for each in tests for name, value in each.items()}.items()}}
    return None


def parts_like(folder, new):
    """The parts of the sources and the device of `new`. Says which ones are missing or of other sources."""
    found = {}
    for part in PARTS:
        path = part_path(folder, new, part)
        record = json.loads(path.read_text()) if path.exists() else join_shares(folder, new) if part == "tests" else None
        if record is None:
            print(f"the record lacks the part {part}: ./run gpu {part}")
        elif record["cuda_sources_sha256"] != new["cuda_sources_sha256"]:
            print(f"{path} is of other CUDA sources, so the record lacks the part {part}: ./run gpu {part}")
        else:
            found[part] = record
    return found


def join(parts):
    """The record of all parts."""
    about = ("date", "driver", "cuda", "commit", "commit_note")
    newest = max(parts.values(), key=lambda part: part["date"])
    record = {**parts["tests"], **{key: newest[key] for key in about}}
    words = {"commit": "commits", "driver": "drivers", "cuda": "toolkits", "cuda_sources_sha256": "CUDA sources"}
    several = [word for key, word in words.items() if len({part[key] for part in parts.values()}) > 1]
    if several:
        record["commit_note"] = f"the parts are of several {' and '.join(several)}"
    record["parts"] = {name: {key: part[key] for key in (*about, "cuda_sources_sha256")} for name, part in parts.items()}
    for key in ("tests", "compute_sanitizer", "benchmarks"):
        of_key = [part[key] for name, part in parts.items() if PARTS[name][0] == key]
        record[key] = {name: value for results in of_key for name, value in results.items()}
    return record


def say(record):
    if "tests" in record:
        tests = record["tests"]
        print(f"{record['device']}: {tests['passed']} tests passed, {tests['failed']} failed, {tests['skipped']} skipped")
        for name, run in tests.get("again", {}).items():
            print(f"  {name}: {run['was']} in that run, passed in the run of {run['date']} at {run['commit']}")
    for tool, entry in record.get("compute_sanitizer", {}).items():
        print(f"  {tool}: {entry['result']}" + (f" ({entry['summary']})" if entry["summary"] else ""))
    problems = problems_of(record)
    for problem in problems:
        print(f"WRONG: {problem}")
    return problems


def finish(parts, folder):
    """Writes the record; removes its parts, unless the record shows a problem."""
    record = join(parts)
    path = folder / f"{name_of(record)}-{record['date'][:10]}.json"
    write(record, path)
    print(f"record: {path}")
    if say(record):
        return 1
    for path in [*(part_path(folder, record, name) for name in parts), *share_paths(folder, record)]:
        path.unlink(missing_ok=True)
    if not any((folder / "parts").iterdir()):
        (folder / "parts").rmdir()
    return 0


def part_of_record(record, name):
    """A part as an older record has it: only of the studies are the reports its own."""
    key, about = PARTS[name][0], record["parts"][name]
    own = {"bench_mri_study", "bench_cionize_study", "bench_devices"}
    results = record[key] if key != "benchmarks" else {k: v for k, v in record[key].items() if (k in own) == (name == "studies")}
    return {"cuda_sources_sha256": record["cuda_sources_sha256"], **about, "device": record["device"], key: results}


def fill(older, folder):
    tests = [json.loads(path.read_text()) for path in (folder / "parts").glob("gpu-*-tests*.json")]
    tests = [part for part in tests if part["device"] == older["device"]]
    parts = parts_like(folder, tests[0]) if tests else {}
    if "tests" not in parts:
        sys.exit(f"gpu_record.py: {folder}/parts has no tests on {older['device']}, or not all shares of them: ./run gpu tests")
    for name in PARTS:
        if name not in parts:
            parts[name] = part_of_record(older, name)
    return finish(parts, folder)


def take_again(path, other_path):
    part, other = json.loads(path.read_text()), json.loads(other_path.read_text())
    for key in ("device", "cuda_sources_sha256"):
        if part[key] != other[key]:
            sys.exit(f"gpu_record.py: {other_path}: another {key} than {path}")
    tests, theirs = part["tests"], other["tests"]
    for name, was in list(tests["not_passed"].items()):
        if name in theirs["seconds"] and name not in theirs["not_passed"]:
            del tests["not_passed"][name]
            tests[was] -= 1
            tests["passed"] += 1
            tests["seconds"][name] = theirs["seconds"][name]
            tests.setdefault("again", {})[name] = {"was": was, "date": other["date"], "commit": other["commit"]}
    write(part, path)
    return 1 if say(part) else 0


def write_costs(build):
    """The file that ctest writes itself at the end of a run: the times of the tests, by name."""
    records = [json.loads(path.read_text()) for path in (pathlib.Path(__file__).resolve().parents[1] / "results").glob("gpu-*.json")]
    seconds = max(records, key=lambda record: record["date"])["tests"]["seconds"] if records else {}
    folder = build / "Testing" / "Temporary"
    if not (folder / "CTestCostData.txt").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "CTestCostData.txt").write_text("".join(f"{name} 1 {time}\n" for name, time in seconds.items()) + "---\n")
    return 0


def main():
    if sys.argv[1] == "--costs":
        return write_costs(pathlib.Path(sys.argv[2]))
    if sys.argv[1] == "--again":
        return take_again(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    if sys.argv[1] == "--fill-from":
        return fill(json.loads(pathlib.Path(sys.argv[2]).read_text()), pathlib.Path(sys.argv[3]))
    work, folder, part = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    new = make_part(work, part)
    write(new, part_path(folder, new, part))
    parts = parts_like(folder, new)
    if len(parts) < len(PARTS):
        return 1 if say(new) else 0
    return finish(parts, folder)


if __name__ == "__main__":
    sys.exit(main())
