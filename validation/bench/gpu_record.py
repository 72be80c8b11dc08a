#!/usr/bin/env python3
"""Makes the record of a run on a GPU (./run gpu) from the files that the run left in a folder.

    gpu_record.py WORK RESULTS

WORK holds devices.csv (nvidia-smi), nvcc.txt, digest.txt, digests.txt and listed_by.txt (of the CUDA sources),
tests.xml (ctest), TOOL.log and TOOL.status for each tool of compute-sanitizer, and the reports bench_*.json; with
git, also commit.txt and changes.txt. RESULTS gets one file gpu-DEVICE-DATE.json. Exits with 1 if the record shows
a problem: a failed or skipped test, no tests, an error found by compute-sanitizer, or no benchmark.
"""
import datetime
import json
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
        summaries = re.findall(r"^=+ ((?:\w+ )?SUMMARY: .*)$", log, re.MULTILINE)
        summary = "; ".join(s for s in summaries if not s.startswith("LEAK")) or None
        refused = re.search(r"Error: (Device not supported|Unable to )[^\n]*|Internal Sanitizer Error[^\n]*", log)
        clean = summary is not None and re.search(r"SUMMARY: 0 (errors|hazards)", summary)
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


def make_record(work):
    devices = read_devices(work)
    commit, changes = text_of(work / "commit.txt"), text_of(work / "changes.txt")
    toolkit = re.search(r"release [\d.]+, V([\d.]+)", text_of(work / "nvcc.txt") or "")
    return {
        "device": devices[0]["name"] if devices else None,
        "devices": devices,
        "driver": devices[0].get("driver") if devices else None,
        "cuda": toolkit.group(1) if toolkit else None,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit,
        "commit_note": None if commit and not changes else "with changes that are not committed" if commit else "no git here",
        "cuda_sources_sha256": text_of(work / "digest.txt"),
        "cuda_sources_listed_by": text_of(work / "listed_by.txt"),
        "cuda_sources": {path: digest for digest, path in map(str.split, (text_of(work / "digests.txt") or "").splitlines())},
        "tests": read_tests(work),
        "compute_sanitizer": read_sanitizer(work),
        "benchmarks": read_benchmarks(work),
    }


def problems_of(record):
    tests = record["tests"]
    problems = [f"test {name}: {kind}" for name, kind in tests["not_passed"].items()]
    if tests["passed"] == 0:
        problems.append("no test passed")
    problems += [f"compute-sanitizer {tool}: {entry['summary'] or 'see its log'}"
                 for tool, entry in record["compute_sanitizer"].items() if entry["result"] == "errors"]
    if not record["benchmarks"]:
        problems.append("no benchmark left a report")
    problems += [f"unknown: {key}" for key in ("device", "driver", "cuda", "cuda_sources_sha256") if not record[key]]
    return problems


def write(record, folder):
    device = re.sub(r"[^a-z0-9]+", "-", (record["device"] or "unknown").lower()).strip("-")
    path = folder / f"gpu-{device}-{record['date'][:10]}.json"
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(record, indent=2) + "\n")
    os.replace(part, path)
    return path


def main():
    work, folder = map(pathlib.Path, sys.argv[1:3])
    record = make_record(work)
    path = write(record, folder)
    tests = record["tests"]
    print(f"{record['device']}: {tests['passed']} tests passed, {tests['failed']} failed, {tests['skipped']} skipped")
    for tool, entry in record["compute_sanitizer"].items():
        print(f"  {tool}: {entry['result']}" + (f" ({entry['summary']})" if entry["summary"] else ""))
    print(f"record: {path}")
    problems = problems_of(record)
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
