#!/usr/bin/env python3
"""Arrays of other libraries in the Python package: DLPack, PyTorch, JAX, and what a GPU's arrays look like (without a GPU).

usage: test_python_arrays.py [test_name ...]
"""
import numpy as np
import voxfield
from python_cases import main, module, off, refuses
from voxfield import _arrays

K = np.linspace(-4, 4, 40, dtype=np.float32).reshape(20, 2)


class Packed:
    """An array that offers DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    x = np.ones((8, 8), np.complex64)
    plan = voxfield.NUFFT(Packed(K), (8, 8))
    assert np.array_equal(plan.forward(Packed(x)), plan.forward(x))
    assert voxfield.potential_at(Packed(np.ones((1, 3))), Packed(np.zeros((1, 3))), Packed(np.ones(1))).shape == (1,)


def test_sequences():
    plan = voxfield.NUFFT(K.tolist(), (8, 8))
    assert np.array_equal(plan.forward(np.eye(8, dtype=np.float32)), plan.forward(np.eye(8, dtype=np.complex64)))
    assert np.array_equal(plan.forward([[1.0] * 8] * 8), plan.forward(np.ones((8, 8), np.complex64)))  # lists have no type
    refuses(TypeError, "complex128", plan.forward, np.ones((8, 8), complex))
    refuses(ValueError, "not ()", plan.forward, 1.0)
    refuses((TypeError, ValueError), "", plan.forward, object())


def test_orders_of_bytes_and_masks():
    y, x = np.mgrid[-12:12, -12:12]
    kspace = np.fft.fftshift(np.fft.fft2(np.exp(-(x**2 + y**2) / 40.0))).astype(np.complex64)[None]
    truth = voxfield.reconstruct(kspace, method="adjoint").image
    assert np.abs(truth).max() > 0.9 and np.array_equal(voxfield.reconstruct(kspace.astype(">c8"), method="adjoint").image, truth)
    plan = voxfield.NUFFT(K, (8, 8))
    image = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert np.array_equal(plan.forward(image.astype(">f4")), plan.forward(image))
    refuses(TypeError, "masked", plan.forward, np.ma.masked_array(image, image > 3))
    assert np.array_equal(plan.forward(image > 3), plan.forward((image > 3).astype(np.float32)))


def test_torch_on_the_cpu():
    torch = module("torch")
    x = torch.ones(3, 8, 8, dtype=torch.complex64)
    plan = voxfield.NUFFT(torch.from_numpy(K), (8, 8))
    y = plan.forward(x)
    assert isinstance(y, torch.Tensor) and y.shape == (3, 20) and y.dtype == torch.complex64
    assert np.array_equal(y.numpy(), plan.forward(x.numpy()))
    assert off(plan.forward(x.transpose(1, 2)).numpy(), y.numpy()) == 0
    assert np.array_equal(plan.forward((1j * x).conj()).numpy(), plan.forward((-1j * x).numpy()))
    out = torch.empty(3, 20, dtype=torch.complex64)
    assert plan.forward(x, out) is out and torch.equal(out, y)
    refuses(ValueError, "overlaps", voxfield.NUFFT(np.zeros((64, 2)), (8, 8)).forward, x[0], x[0].view(64))
    assert isinstance(voxfield.nufft1(K, y, (8, 8)), torch.Tensor)
    refuses(TypeError, "derivative", voxfield.NUFFT, torch.ones(3, 2, requires_grad=True), (8, 8))
    with torch.no_grad():
        assert voxfield.NUFFT(torch.ones(3, 2, requires_grad=True), (8, 8)).samples == 3
    operator = voxfield.ImagingOperator(torch.from_numpy(K), shape=(8, 8))
    assert isinstance(operator.solve(operator(x[0])).image, torch.Tensor)


def test_jax():
    jax = module("jax")
    x = jax.numpy.ones((8, 8), jax.numpy.complex64)
    y = voxfield.NUFFT(K, (8, 8)).forward(x)
    assert isinstance(y, jax.Array) and off(np.asarray(y), voxfield.NUFFT(K, (8, 8)).forward(np.ones((8, 8), np.complex64))) == 0


ABSENT = object()


class OnGpu:
    """Host memory that says it is a GPU's."""

    def __init__(self, array, **changes):
        self.array = array
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        interface = {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.array.ctypes.data, False),
                     "version": 3, "strides": None, "stream": 7, **self.changes}
        return {name: value for name, value in interface.items() if value is not ABSENT}

    def __dlpack_device__(self):
        return 2, 1


def test_cuda_interface():
    array = np.zeros((3, 4), np.complex64)
    view = _arrays.cuda_view(OnGpu(array), OnGpu(array).__cuda_array_interface__, "x")
    assert (view.shape, view.dtype, view.cuda, view.stream) == ((3, 4), np.complex64, 1, 7)
    assert int(_arrays.ffi.cast("uintptr_t", view.pointer)) == array.ctypes.data

    def see(writable=False, **changes):
        fake = OnGpu(array, **changes)
        return _arrays.cuda_view(fake, fake.__cuda_array_interface__, "x", writable)

    assert see(stream=None).stream == 1 and see(stream=ABSENT).stream == 1 and see(stream=2).stream == 2
    assert see(strides=(32, 8)).shape == (3, 4)
    refuses(ValueError, "C order", see, strides=(8, 24))
    refuses(ValueError, "stream 0", see, stream=0)
    refuses(ValueError, "read-only", see, data=(array.ctypes.data, True), writable=True)
    refuses(TypeError, "masked", see, mask=array)


def test_a_gpu_array_and_a_plan_of_the_cpu():
    plan = voxfield.NUFFT(K, (8, 8))
    x = np.ones((8, 8), np.complex64)
    refuses(TypeError, "can be made by PyTorch or CuPy", plan.forward, OnGpu(x))
    refuses(TypeError, "the array is on cuda:1, and the plan on cpu", plan.forward, OnGpu(x), OnGpu(np.zeros(20, np.complex64)))
    refuses(TypeError, "both in host memory", plan.forward, x, OnGpu(np.zeros(20, np.complex64)))
    refuses(TypeError, "both in host memory", plan.forward, OnGpu(x), np.zeros(20, np.complex64))
    refuses(TypeError, "must be complex64", plan.forward, OnGpu(x.astype(complex)), OnGpu(np.zeros(20, np.complex64)))
    whole = np.zeros(128, np.complex64)
    refuses(ValueError, "overlaps", plan.forward, OnGpu(whole[:64].reshape(8, 8)), OnGpu(whole[63:83]))


def test_devices():
    found = dict(voxfield.devices())
    assert "cpu" in found and all(found.values())
    if "cuda:0" not in found:
        refuses(voxfield.Error, "", voxfield.NUFFT, K, (8, 8), device="cuda")


if __name__ == "__main__":
    main(globals())
