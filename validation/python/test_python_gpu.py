#!/usr/bin/env python3
"""The Python package on a GPU: arrays of PyTorch, CuPy and JAX in its memory, streams, and, without any of them, memory of the CUDA runtime by
ctypes. Results are compared with the CPU's.

usage: test_python_gpu.py [test_name ...]

Bounds: transforms on both devices are off by their accuracy, 1e-5 here, and single precision's 1e-6 (gridding.h).
"""
import ctypes
import ctypes.util

import numpy as np
import voxfield
from python_cases import Skip, generator, main, module, off, refuses

BOUND = 4e-5


def gpu():
    if "cuda:0" not in dict(voxfield.devices()):
        raise Skip("no GPU, or the package was built without CUDA")


def case():
    rng = generator(1)
    k = rng.uniform(-32, 32, (5000, 2)).astype(np.float32)
    x = (rng.standard_normal((3, 64, 64)) + 1j * rng.standard_normal((3, 64, 64))).astype(np.complex64)
    return k, x, voxfield.NUFFT(k, (64, 64), device="cpu").forward(x)


def test_host_arrays():
    gpu()
    k, x, truth = case()
    plan = voxfield.NUFFT(k, (64, 64), device="cuda")
    assert off(plan.forward(x), truth) < BOUND
    assert off(plan.adjoint(truth), voxfield.NUFFT(k, (64, 64)).adjoint(truth)) < BOUND
    maps = np.ones((2, 64, 64), np.complex64)
    a, b = voxfield.ImagingOperator(k, maps, device="cuda"), voxfield.ImagingOperator(k, maps)
    assert off(a(x[0]), b(x[0])) < BOUND and off(a.normal(x[0]), b.normal(x[0])) < BOUND
    assert off(a.solve(b(x[0]), lam=0.1).image, b.solve(b(x[0]), lam=0.1).image) < 1e-3
    atoms, charges = np.random.default_rng(2).uniform(-5, 5, (50, 3)), np.linspace(-1, 1, 50)
    assert off(voxfield.potential(atoms, charges, 1.0, "exact", device="cuda"), voxfield.potential(atoms, charges, 1.0, "exact")) < 1e-5


def test_torch():
    gpu()
    torch = module("torch")
    if not torch.cuda.is_available():
        raise Skip("this PyTorch has no CUDA")
    k, x, truth = case()
    plan = voxfield.NUFFT(torch.as_tensor(k, device="cuda:0"), (64, 64))
    assert plan.device == "cuda:0"
    there = torch.as_tensor(x, device="cuda:0")
    assert off(plan.forward(there).cpu().numpy(), truth) < BOUND
    assert off(plan.forward(there.conj()).cpu().numpy(), plan.forward(torch.as_tensor(x.conj(), device="cuda:0")).cpu().numpy()) < 1e-6
    stream = torch.cuda.Stream()
    for _ in range(20):  # work before and after, in a stream of the caller's: without order some of it would be read too early
        with torch.cuda.stream(stream):
            big = torch.randn(4000, 4000, device="cuda:0")
            for _ in range(5):
                big = big @ big / 100
            late = there * (1 + 0 * big[0, 0].nan_to_num(0, 0, 0))
            result = plan.forward(late) * 2
        stream.synchronize()
        assert off(result.cpu().numpy(), 2 * truth) < BOUND
    out = torch.empty(3, 5000, dtype=torch.complex64, device="cuda:0")
    assert plan.forward(there, out) is out
    refuses(TypeError, "both in host memory", plan.forward, x, out)
    small = voxfield.NUFFT(k[:20] / 8, (8, 8), 1e-10, device="cuda:0", dtype=complex)
    given = torch.randn(8, 8, dtype=torch.complex128, device="cuda:0", requires_grad=True)
    assert torch.autograd.gradcheck(small.forward, (given,), atol=1e-3, rtol=1e-3)
    torch.cuda.synchronize()


def test_cupy():
    gpu()
    cupy = module("cupy")
    k, x, truth = case()
    plan = voxfield.NUFFT(cupy.asarray(k), (64, 64))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        result = plan.forward(cupy.asarray(x) * 1) * 2
        stream.synchronize()
    assert isinstance(result, cupy.ndarray) and off(result.get(), 2 * truth) < BOUND


def test_jax():
    gpu()
    jax = module("jax")
    try:
        place = jax.devices("gpu")[0]
    except RuntimeError as error:
        raise Skip("this JAX has no GPU") from error
    k, x, truth = case()
    there = jax.device_put(x, place)
    plan = voxfield.NUFFT(jax.device_put(k, place), (64, 64))
    assert plan.device == "cuda:0"
    result = plan.forward(there * 1) * 2
    assert isinstance(result, jax.Array) and result.devices() == {place} and off(np.asarray(result), 2 * truth) < BOUND
    refuses(TypeError, "out must be", plan.forward, there, result)


class Memory:
    """An array in the memory of the GPU, by the CUDA runtime."""

    def __init__(self, runtime, array, stream):
        self.runtime, self.array, self.stream = runtime, array, stream
        self.pointer = ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(array.nbytes)) == 0
        assert runtime.cudaMemcpyAsync(self.pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 1, stream) == 0

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.pointer.value, False), "version": 3,
                "stream": self.stream.value}

    def read(self):
        host = np.empty_like(self.array)
        assert self.runtime.cudaMemcpyAsync(ctypes.c_void_p(host.ctypes.data), self.pointer, ctypes.c_size_t(host.nbytes), 2, self.stream) == 0
        assert self.runtime.cudaStreamSynchronize(self.stream) == 0
        return host


def test_the_cuda_runtime():
    gpu()
    for name in (ctypes.util.find_library("cudart"), "libcudart.so", "libcudart.so.13", "libcudart.so.12",
                 "/usr/local/cuda/lib64/libcudart.so"):
        try:
            runtime = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if runtime:
            break
    else:
        raise Skip("no libcudart here")
    k, x, truth = case()
    assert runtime.cudaSetDevice(0) == 0
    stream = ctypes.c_void_p()
    assert runtime.cudaStreamCreate(ctypes.byref(stream)) == 0
    plan = voxfield.NUFFT(k, (64, 64), device="cuda:0")
    for _ in range(20):
        given, out = Memory(runtime, x, stream), Memory(runtime, np.zeros_like(truth), stream)
        assert plan.forward(given, out) is out
        assert off(out.read(), truth) < BOUND  # read in the same stream, so after the sum
    given, out = Memory(runtime, x[0], stream), Memory(runtime, np.zeros((1, 1), np.complex64), stream)
    refuses(ValueError, "out must be", plan.forward, given, out)


if __name__ == "__main__":
    main(globals())
