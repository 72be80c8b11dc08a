#!/usr/bin/env python3
"""The Python package's transforms: sums against their definition, adjoints, batches, precisions, what is refused, PyTorch.

usage: test_python_nufft.py [test_name ...]

Bounds. A NUFFT is off by its accuracy in the l2 norm over tens of sums or more (gridding.h); two of them, by twice that.
Single precision adds 1e-6 (gridding.h), and two sums in other orders of n terms about sqrt(n) 6e-8, below 1e-5 here.
"""
import copy
import pickle
import warnings

import numpy as np
import voxfield
from python_cases import generator, main, module, off, refuses

SINGLE = 1e-5


def direct(k, shape, x=None, c=None):
    """The sums in double precision: forward of x, or adjoint of c; k has the columns kx, ky, kz."""
    axes = [(np.arange(n) - n // 2) / n for n in shape]
    phase = np.ones((len(k), *shape), complex)
    for a, r in enumerate(axes):
        turns = k[:, len(shape) - 1 - a].astype(float)[:, None] * r
        phase *= np.exp(-2j * np.pi * turns).reshape((len(k),) + (1,) * a + (-1,) + (1,) * (len(shape) - 1 - a))
    if x is not None:
        return np.tensordot(x, phase, axes=(list(range(-len(shape), 0)), list(range(1, len(shape) + 1))))
    return np.tensordot(c, phase.conj(), axes=(-1, 0))


def case(rng, shape, count=300):
    half = np.array(shape[::-1]) / 2
    return rng.uniform(-half, half, (count, len(shape))).astype(np.float32)


def complex_numbers(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def test_sums():
    rng = generator(1)
    for shape in ((17,), (12, 20), (6, 9, 8)):
        k = case(rng, shape)
        x, c = complex_numbers(rng, 3, *shape), complex_numbers(rng, 3, len(k))
        for dtype, accuracy, bound in ((np.complex64, 1e-4, 1e-4 + SINGLE), (np.complex128, 1e-9, 1e-9)):
            plan = voxfield.NUFFT(k, shape, accuracy, dtype=dtype)
            assert off(plan.forward(x.astype(dtype)), direct(k, shape, x=x)) < bound
            assert off(plan.adjoint(c.astype(dtype)), direct(k, shape, c=c)) < bound
            assert plan.forward(x.astype(dtype)).dtype == dtype
        assert off(voxfield.nufft2(k, x), direct(k, shape, x=x)) < 2e-5
        assert off(voxfield.nufft1(k, c, shape, 1e-7), direct(k, shape, c=c)) < 1e-7
        assert voxfield.nufft1(k, c.astype(np.complex64), shape).dtype == np.complex64


def test_shapes_and_many_vectors():
    rng = generator(2)
    k = case(rng, (9, 7), 50)
    plan = voxfield.NUFFT(k, (9, 7))
    x = complex_numbers(rng, 2, 70, 9, 7).astype(np.complex64)  # more than the plan takes at once
    y = plan.forward(x)
    assert y.shape == (2, 70, 50)
    assert np.array_equal(y[1, 69], plan.forward(x[1, 69])), "a vector's bits depend on the batch"
    assert plan.forward(np.zeros((0, 9, 7), np.complex64)).shape == (0, 50)
    assert np.array_equal(plan.forward(x[0, 0].real), plan.forward(x[0, 0].real + 0j))
    assert np.array_equal(plan.forward(np.asfortranarray(x[0, 0])), y[0, 0])
    assert np.array_equal(plan.forward(x[0, ::3]), y[0, ::3])
    third = voxfield.NUFFT(np.column_stack([k, np.full(50, 7)]), (9, 7))  # kz has no axis here
    assert np.array_equal(third.forward(x[0, 0]), y[0, 0])
    empty = voxfield.NUFFT(np.zeros((0, 2)), (9, 7))
    assert empty.forward(x[0, 0]).shape == (0,) and not empty.adjoint(np.zeros(0, np.complex64)).any()
    line = voxfield.NUFFT(np.arange(-4, 4), (8,))
    assert off(line.forward(np.eye(8, dtype=np.complex64)), direct(np.arange(-4, 4)[:, None], (8,), x=np.eye(8))) < 2 * SINGLE


def test_new_points():
    rng = generator(3)
    k, other = case(rng, (16, 16)), case(rng, (16, 16), 77)
    x = complex_numbers(rng, 16, 16).astype(np.complex64)
    plan = voxfield.NUFFT(k, (16, 16), 1e-5)
    before = plan.forward(x)
    plan.set_points(other)
    assert off(plan.forward(x), direct(other, (16, 16), x=x)) < 2 * SINGLE
    refuses(ValueError, "NaN", plan.set_points, np.full((5, 2), np.nan))
    refuses(ValueError, "shape", plan.set_points, np.zeros((5, 4)))
    assert plan.forward(x).shape == (77,), "a refusal changed the plan"
    plan.set_points(k)
    assert np.array_equal(plan.forward(x), before)


def test_out():
    rng = generator(4)
    k = case(rng, (8, 8), 64)
    plan = voxfield.NUFFT(k, (8, 8))
    x = complex_numbers(rng, 8, 8).astype(np.complex64)
    out = np.empty(64, np.complex64)
    assert plan.forward(x, out) is out and np.array_equal(out, plan.forward(x))
    odd = np.zeros(8 * 64 + 4, np.uint8)[4:].view(np.complex64)  # an address that is no multiple of 8
    assert np.array_equal(plan.forward(x, odd), out)
    refuses(ValueError, "out must be complex64", plan.forward, x, np.empty(64, np.complex128))
    refuses(ValueError, "out must be complex64 of shape (64,)", plan.forward, x, np.empty(63, np.complex64))
    refuses(ValueError, "C order", plan.forward, x, np.empty(128, np.complex64)[::2])
    refuses(TypeError, "out must be an array", plan.forward, x, [0j] * 64)
    out.flags.writeable = False
    refuses(ValueError, "read-only", plan.forward, x, out)
    whole = np.zeros(128, np.complex64)
    refuses(ValueError, "overlaps", plan.forward, whole[:64].reshape(8, 8), whole[63:127])
    assert plan.forward(whole[:64].reshape(8, 8), whole[64:]) is not None
    constant = np.broadcast_to(np.complex64(1), (8, 8))  # read-only input is fine
    assert off(plan.forward(constant), direct(k, (8, 8), x=np.ones((8, 8)))) < 2 * SINGLE


def test_refusals():
    k, x = np.zeros((5, 2)), np.zeros((8, 8), np.complex64)
    plan = voxfield.NUFFT(k, (8, 8))
    nan = k.copy()
    nan[3, 1] = np.nan
    refuses(ValueError, "NaN", voxfield.NUFFT, nan, (8, 8))
    refuses(ValueError, "too large", voxfield.NUFFT, np.full((5, 2), 1e300), (8, 8))
    refuses(ValueError, "shape (n, 2 or 3)", voxfield.NUFFT, k.T, (8, 8))
    refuses(ValueError, "1 to 3 positive", voxfield.NUFFT, k, (8, 0))
    refuses(TypeError, "", voxfield.NUFFT, k, (8, 8.5))
    refuses(ValueError, "tolerance", voxfield.NUFFT, k, (8, 8), 1e-9)
    for make in (voxfield.NUFFT, lambda *a: voxfield.ImagingOperator(a[0], None, a[1], accuracy=a[2])):
        refuses(ValueError, "dtype=complex128", make, k, (8, 8), 0.9e-7)
    for make in (voxfield.NUFFT, voxfield.nufft2, lambda *a: voxfield.nufft1(a[0], np.zeros(15, complex), (8, 8))):
        refuses(ValueError, "points.reshape(-1, 2)", make, np.zeros((3, 5, 2)), x if make is voxfield.nufft2 else (8, 8))
    refuses(ValueError, "trajectory.reshape(-1, 2)", voxfield.ImagingOperator, np.zeros((3, 5, 2)), None, (8, 8))
    refuses(ValueError, "tolerance", voxfield.NUFFT, k, (8, 8), float("nan"))
    refuses(TypeError, "dtype", voxfield.NUFFT, k, (8, 8), dtype=int)
    refuses(TypeError, "real numbers", voxfield.NUFFT, k + 0j, (8, 8))
    refuses(voxfield.Error, "nowhere", voxfield.NUFFT, k, (8, 8), device="nowhere")
    refuses(ValueError, "threads", voxfield.NUFFT, k, (8, 8), threads=-1)
    refuses(ValueError, "threads", voxfield.NUFFT, k, (8, 8), threads=10**30)
    refuses(ValueError, "1 to 3 positive", voxfield.NUFFT, k, (8, 2**70))
    refuses(ValueError, "(n, d)", voxfield.nufft2, 0.5, np.zeros(8))
    for how in (copy.copy, copy.deepcopy, pickle.dumps):  # a copy would outlive the plan's memory
        refuses(TypeError, "pickled or copied", how, plan)
    refuses(TypeError, "complex128", plan.forward, x.astype(complex))
    refuses(TypeError, "numbers", plan.forward, np.full((8, 8), "a"))
    refuses(ValueError, "x must have the shape (..., 8, 8), not (8, 7)", plan.forward, x[:, :7])
    refuses(ValueError, "c must have the shape", plan.adjoint, x)
    refuses(ValueError, "2 axes or more", voxfield.nufft2, k, np.zeros(8))
    assert np.isnan(plan.forward(np.full((8, 8), np.nan, np.complex64))).all()  # as sums have it
    error = refuses(voxfield.Error, "tolerance", voxfield.NUFFT, k, (8, 8), 0.5)
    assert error.status == "VF_ERR_ARGUMENT" and isinstance(error, ValueError)


def test_precision_of_points():
    rng = generator(5)
    k, x = rng.uniform(-14, 14, (300, 2)), complex_numbers(rng, 28, 28)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = voxfield.NUFFT(k, (28, 28), 1e-11, dtype=complex)  # rounded points would be off by 5e-7
        assert off(plan.forward(x), direct(k, (28, 28), x=x)) < 2e-11
        plan.set_points(k[:200] + 0.1)
        assert off(plan.forward(x), direct(k[:200] + 0.1, (28, 28), x=x)) < 2e-11
        plan.set_points(k.astype(np.float32))
        assert off(plan.forward(x), direct(k.astype(np.float32), (28, 28), x=x)) < 2e-11
        assert off(voxfield.nufft2(k, x, 1e-9), direct(k, (28, 28), x=x)) < 2e-9
        far = k + 28 * 10**6  # folded back, to 14 10^-10 of a turn
        assert off(voxfield.nufft2(far, x, 1e-11), direct(k, (28, 28), x=x)) < 1e-7
        voxfield.ImagingOperator(k, shape=(28, 28))
        voxfield.ImagingOperator(np.round(k), shape=(28, 28), accuracy=1e-9, dtype=complex)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        voxfield.ImagingOperator(k, shape=(28, 28), accuracy=1e-9, dtype=complex)
    assert len(found) == 1 and found[0].category is voxfield.PrecisionWarning, [str(w.message) for w in found]
    assert found[0].filename == __file__, found[0].filename


def scan(rng, shape=(14, 12), coils=3, count=900):
    k = case(rng, shape, count)
    return (k, complex_numbers(rng, coils, *shape).astype(np.complex64), rng.uniform(0.5, 2, count),
            rng.uniform(0, 0.02, count), rng.uniform(-30, 30, shape))


def test_imaging():
    rng = generator(5)
    k, maps, weights, time, field = scan(rng)
    x, d = complex_numbers(rng, 14, 12).astype(np.complex64), complex_numbers(rng, 3, 900).astype(np.complex64)
    a = voxfield.ImagingOperator(k, maps, weights=weights)
    truth = np.sqrt(weights) * direct(k, (14, 12), x=maps.astype(complex) * x)
    assert off(a(x), truth) < 2 * SINGLE and np.array_equal(a @ x, a(x))
    back = (maps.conj() * direct(k, (14, 12), c=np.sqrt(weights) * d)).sum(0)
    assert off(a.H(d), back) < 2 * SINGLE
    assert off(a.normal(x), a.H(a(x))) < 4 * SINGLE
    assert abs(np.vdot(d, a(x)) - np.vdot(a.H(d), x)) < 4 * SINGLE * np.linalg.norm(d) * np.linalg.norm(a(x))
    assert a.H.H is a and a.normal.H is not None and off(a.H.normal(d), a(a.H(d))) < 1e-6
    assert a(np.stack([x, 2 * x])).shape == (2, 3, 900) and np.array_equal(a(np.stack([2 * x, x]))[1], a(x))
    assert a.shape == (2700, 168) and a.H.shape == (168, 2700)
    b = voxfield.ImagingOperator(k, maps, field_map=field, time=time, dtype=complex, accuracy=1e-6)
    phase = np.exp(-2j * np.pi * np.float32(time)[:, None] * np.float32(field).ravel())
    waves = direct(k, (14, 12), x=np.eye(168).reshape(168, 14, 12)).T
    truth = np.stack([(waves * phase) @ (m.astype(complex) * x).ravel() for m in maps])
    assert off(b(x), truth) < 1e-6 and off(b.normal(x), b.H(b(x))) < 4e-6
    assert voxfield.ImagingOperator(k, shape=(14, 12))(x).shape == (900,)


def test_imaging_solves():
    rng = generator(6)
    k, maps, weights, _, _ = scan(rng)
    x = complex_numbers(rng, 14, 12).astype(np.complex64)
    a = voxfield.ImagingOperator(k, maps, weights=weights, dtype=complex, accuracy=1e-8)
    matrix = np.stack([a(e).ravel() for e in np.eye(168, dtype=complex).reshape(168, 14, 12)]).T
    lam = 0.1 * weights.sum() * (abs(maps) ** 2).sum() / 168
    d = a(x)
    truth = np.linalg.solve(matrix.conj().T @ matrix + lam * np.eye(168), matrix.conj().T @ d.ravel())
    found = a.solve(d, lam=0.1, iterations=300, tolerance=1e-9)
    # The condition number is below 100: 1e-9 of the residual, and 1e-8 of the sums.
    assert found.residual <= 1e-9 and off(found.image.ravel(), truth) < 1e-5, off(found.image.ravel(), truth)
    refuses(ValueError, "lam", a.solve, d, lam=float("nan"))


def test_imaging_refusals():
    rng = generator(7)
    k, maps, weights, time, field = scan(rng)
    make = voxfield.ImagingOperator
    refuses(TypeError, "shape is needed", make, k)
    refuses(ValueError, "maps must have the shape", make, k, maps, (12, 14))
    refuses(ValueError, "together", make, k, maps, field_map=field)
    refuses(ValueError, "field_map must have the shape (14, 12)", make, k, maps, field_map=field.T, time=time)
    refuses(ValueError, "negative", make, k, maps, weights=-weights)
    refuses(ValueError, "weights must have the shape", make, k, maps, weights=weights[:-1])
    refuses(ValueError, "NaN", make, k, np.where(maps == maps[0, 0, 0], np.nan, maps))
    refuses(ValueError, "NaN", make, k, maps, field_map=field, time=np.full(900, np.inf))
    refuses(ValueError, "shape (coils, ...)", make, k, maps[:0])
    a = make(k, maps)
    refuses(ValueError, "NaN", a.solve, np.full((3, 900), np.nan, np.complex64))
    refuses(TypeError, "pickled or copied", pickle.dumps, a.H)
    refuses(ValueError, "images must have the shape (..., 14, 12)", a, np.zeros((12, 14), np.complex64))
    refuses(ValueError, "data must have the shape (..., 3, 900)", a.H, np.zeros((900, 3), np.complex64))


def test_units_of_trajectories():
    """Cycles and radians per voxel are told from cycles per field of view; a small matrix, or a few points, have no units."""
    k = generator(11).uniform(-32, 32, (400, 2))
    for scale, n, words in ((1 / 64, 64, "cycles per voxel"), (2 * np.pi / 64, 64, "radians per voxel"), (1, 64, None),
                            (0.4, 64, None), (2 * np.pi / 64, 24, None), (1 / 64, 4, None)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            voxfield.ImagingOperator(k * scale, shape=(n, n))
        assert [words in str(w.message) and w.filename == __file__ for w in said] == ([True] if words else []), (scale, n, said)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        voxfield.ImagingOperator(k[:15] / 64, shape=(64, 64))


def test_scipy():
    linalg = module("scipy.sparse.linalg").sparse.linalg
    rng = generator(8)
    k, maps, _, _, _ = scan(rng)
    x = complex_numbers(rng, 14, 12).astype(np.complex64)
    a = voxfield.ImagingOperator(k, maps)
    found = linalg.lsqr(a.as_linear_operator(), a(x).ravel(), atol=1e-6, btol=1e-6, iter_lim=60)[0]
    # Three random coils and 900 samples for 168 voxels: a condition number below 10.
    assert off(found.reshape(14, 12), x) < 1e-3, off(found.reshape(14, 12), x)
    normal = a.normal.as_linear_operator()
    assert off(normal @ x.ravel(), a.normal(x).ravel()) < 1e-6
    assert off(normal.H @ x.ravel(), a.normal(x).ravel()) < 1e-6


def test_torch():
    torch = module("torch")
    torch.manual_seed(1)
    rng = generator(9)
    k = case(rng, (6, 5), 20)
    plan = voxfield.NUFFT(k, (6, 5), 1e-10, dtype=complex)
    x = torch.randn(2, 6, 5, dtype=torch.complex128, requires_grad=True)
    c = torch.randn(20, dtype=torch.complex128, requires_grad=True)
    y = plan.forward(x)
    assert isinstance(y, torch.Tensor) and y.requires_grad
    assert off(y.detach().numpy(), plan.forward(x.detach().numpy())) == 0
    # gradcheck's differences of 1e-6 leave 1e-10 / 1e-6 of the sums' error.
    assert torch.autograd.gradcheck(plan.forward, (x,), atol=1e-3, rtol=1e-3)
    assert torch.autograd.gradcheck(plan.adjoint, (c,), atol=1e-3, rtol=1e-3)
    assert torch.autograd.gradgradcheck(plan.forward, (x,), atol=1e-3, rtol=1e-3)
    real = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(plan.forward, (real,), atol=1e-3, rtol=1e-3)
    a = voxfield.ImagingOperator(k, complex_numbers(rng, 2, 6, 5), dtype=complex, accuracy=1e-10)
    for part, shape in ((a, (6, 5)), (a.H, (2, 20)), (a.normal, (6, 5))):
        assert torch.autograd.gradcheck(part, (torch.randn(*shape, dtype=torch.complex128, requires_grad=True),), atol=1e-3, rtol=1e-3)
    loss = (a(x[0]) - 1).abs().square().sum()
    loss.backward()
    residual = a(x[0].detach()) - 1
    assert off(x.grad[0].numpy(), 2 * a.H(residual).numpy()) < 1e-8
    plain = torch.zeros(20, dtype=torch.complex128)
    assert plan.forward(x.detach()[0], out=plain) is plain and plain.abs().sum() > 0
    refuses(ValueError, "derivative", plan.forward, x, plain)


if __name__ == "__main__":
    main(globals())
