#!/usr/bin/env python3
"""The Python package in a process: Ctrl-C, threads, fork, spawn, memory over many calls, plans that go before their sessions.

usage: test_python_process.py [test_name ...]
"""
import gc
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import voxfield
from python_cases import Skip, generator, main, off

LONG = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it starts in the background
signal.alarm(300)  # should the test be killed, this does not stay behind
import numpy as np, voxfield
rng = np.random.default_rng(1)
atoms, charges = rng.uniform(-50, 50, (200000, 3)), rng.uniform(-1, 1, 200000)
def work():  # minutes
    voxfield.potential(atoms, charges, voxfield.Grid((-50, -50, -50), (0.2, 0.2, 0.2), (500, 500, 500)), "exact", device="cpu")
def after():
    near = voxfield.potential_at([[2, 0, 0]], [[0, 0, 0]], [1.0], unit="e/A")
    print("works" if abs(near[0] - 0.5) < 1e-12 else near, flush=True)
    handler = signal.getsignal(signal.SIGINT)
    print("handler", handler is signal.default_int_handler or handler, flush=True)
"""
INTERRUPT = LONG + """
for _ in range(2):
    print("ready", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
after()
"""
OWN_HANDLER = LONG + """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print("ready", flush=True)
try:
    work()
except voxfield.Interrupted as error:
    print("interrupted", len(seen), error.status, flush=True)
signal.signal(signal.SIGINT, signal.default_int_handler)
after()
"""


def interrupt(script, times):
    """Runs a script that prints "ready" before each long call, and interrupts that; returns what else it printed. One second from
    the signal on a free machine; here the bound is ten, for busy ones, and the least of the calls is printed."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    waits = []
    try:
        for _ in range(times):
            assert process.stdout.readline().strip() == "ready"
            time.sleep(1)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            line = process.stdout.readline().strip()
            waits.append(time.monotonic() - start)
            assert line.startswith("interrupted"), line
        rest = process.stdout.read().splitlines()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    print(f"    stopped {min(waits):.3f} s after the signal")
    assert min(waits) < 10
    return line, rest


def test_ctrl_c():
    _, rest = interrupt(INTERRUPT, 2)
    assert rest == ["works", "handler True"], rest


def test_ctrl_c_with_own_handler():
    line, rest = interrupt(OWN_HANDLER, 1)
    assert line == "interrupted 1 VF_ERR_CANCELLED" and rest == ["works", "handler True"], (line, rest)


def small_case(rng):
    k = rng.uniform(-8, 8, (500, 2)).astype(np.float32)
    x = (rng.standard_normal((16, 16)) + 1j).astype(np.complex64)
    return k, x


def test_threads():
    """Several threads use one plan, and plans of their own, and change points meanwhile."""
    k, x = small_case(generator(1))
    shared = voxfield.NUFFT(k, (16, 16))
    truth, wrong = shared.forward(x), []

    def work(number):
        own = voxfield.NUFFT(k, (16, 16), threads=1)
        for i in range(40):
            if not np.array_equal(shared.forward(x), truth) or not np.array_equal(own.forward(x), truth):
                wrong.append(number)
            if i % 10 == number:
                shared.set_points(k)
            try:
                voxfield.NUFFT(k, (16, 16), 0.5)
            except ValueError as error:
                if "tolerance" not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_other_threads_run_meanwhile():
    """The GIL is released: another thread counts while a sum runs."""
    rng = generator(2)
    atoms, charges = rng.uniform(-20, 20, (20000, 3)), rng.uniform(-1, 1, 20000)
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    start = time.perf_counter()
    voxfield.potential(atoms, charges, voxfield.Grid((-20, -20, -20), (0.6,) * 3, (64, 64, 64)), "exact", threads=1)
    seconds, during = time.perf_counter() - start, counted[0] - before
    stop.set()
    thread.join()
    assert during > 3, f"another thread had {during} turns in {seconds:.2f} s"


def _in_child(queue):
    try:
        queue.put(voxfield.nufft2(np.zeros((1, 1)), np.ones(4)).real.round(3).tolist())
    except BaseException as error:  # noqa: BLE001
        queue.put(repr(error))


def in_child(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    answer = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    return answer


def test_fork_and_spawn():
    voxfield.nufft2(np.zeros((1, 1)), np.ones(4))
    assert "start workers with multiprocessing.get_context('spawn')" in in_child("fork")
    assert in_child("spawn") == [4.0]
    assert voxfield.nufft2(np.zeros((1, 1)), np.ones(4)).real.round(3).tolist() == [4.0]


def test_fork_before_use():
    script = ("import os, sys, numpy as np, voxfield\n"
              "pid = os.fork()\n"
              "fine = voxfield.nufft2(np.zeros((1, 1)), np.ones(4)).real.round(3).tolist() == [4.0]\n"
              "if pid == 0: os._exit(0 if fine else 1)\n"
              "sys.exit(os.waitpid(pid, 0)[1] or not fine)\n")
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def resident():
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize()


def grows(function, rounds):
    """Bytes that the process grew by in `rounds` calls, after a tenth as many."""
    for _ in range(rounds // 10):
        function()
    gc.collect()
    before = resident()
    for _ in range(rounds):
        function()
    gc.collect()
    return resident() - before


def test_memory():
    """10,000 calls: a leak of 100 bytes a call would show. 512 KiB are allowed for the allocator's habits."""
    if not os.path.exists("/proc/self/statm"):
        raise Skip("no /proc here")
    k, x = small_case(generator(3))
    plan = voxfield.NUFFT(k, (16, 16), threads=1)
    charges = np.ones(3)

    def refused():
        try:
            plan.adjoint(x)
        except ValueError:
            pass

    def one_plan():
        voxfield.NUFFT(k, (16, 16), threads=1).forward(x)

    for function, rounds in ((lambda: plan.forward(x), 10000), (lambda: plan.adjoint(plan.forward(x)), 10000), (refused, 10000),
                             (one_plan, 1000), (lambda: plan.set_points(k), 1000),
                             (lambda: voxfield.potential_at(np.zeros((2, 3)), np.eye(3), charges, threads=1), 10000)):
        grown = grows(function, rounds)
        assert grown <= 512 << 10, f"{rounds} calls grew the process by {grown} bytes"


def test_plans_at_the_end():
    """Plans that live when the interpreter ends, in cycles, and in threads that are still running."""
    script = ("import numpy as np, voxfield, threading\n"
              "plan = voxfield.NUFFT(np.zeros((3, 2)), (8, 8)); loop = [plan]; loop.append(loop)\n"
              "class Late:\n"
              "    def __del__(self): plan.forward(np.zeros((8, 8), np.complex64))\n"
              "late = Late()\n"
              "def run():\n"
              "    while True: plan.forward(np.zeros((8, 8), np.complex64))\n"
              "threading.Thread(target=run, daemon=True).start()\n")
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done


def test_results_outlive_plans():
    k, x = small_case(generator(4))
    truth = voxfield.NUFFT(k, (16, 16)).forward(x)
    results = [voxfield.NUFFT(k, (16, 16)).forward(x) for _ in range(20)]
    gc.collect()
    assert all(off(r, truth) == 0 for r in results)


if __name__ == "__main__":
    main(globals())
