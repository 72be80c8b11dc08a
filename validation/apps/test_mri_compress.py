#!/usr/bin/env python3
"""mri_recon --compress: how many virtual coils, what the plan and the report say, and that images stay the same.

usage: test_mri_compress.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import pathlib

from made_scan import h5py, need_h5py, numpy, phantom, relative, run_tests
from program import make, refuse

if h5py:
    import loop_coils

FLAT = ("--phantom", "head", "--matrix", "48,48,1", "--image-snr", 20, "--spokes", 40, "--oversample", 2)


def image(scan, *options):
    """Returns the image, [frame][z][y][x], what was printed, and the report of the reconstruction."""
    done = make(scan, "-o", "i.h5", "--report", "r.json", *options)
    with h5py.File("i.h5") as file:
        return file["image"][...], done.out, json.loads(pathlib.Path("r.json").read_text())["reconstruction"]


def combined(out):
    return [line for line in out.splitlines() if line.startswith("coils ") and "--compress" in line]


def test_which_scans(_):
    """From 12 coils on; fewer are left alone, and so are all with none. A number is what it was."""
    need_h5py()
    for coils in (11, 12):
        phantom("s.h5", *FLAT, "--coils", coils, "--noise-scan")
        found, out, report = image("s.h5", "--prior", "spectrum")
        same, silent, plain = image("s.h5", "--prior", "spectrum", "--compress", "none")
        assert not combined(silent) and "coils_used" not in plain and plain["coil_energy_kept"] == 1
        if coils == 11:
            assert not combined(out) and "coils_used" not in report and (found == same).all()
        else:
            assert len(combined(out)) == 1 and f"12 combined into {report['coils_used']}" in out and "the noise scan" in out, out
            assert report["coils_received"] == 12 and 4 <= report["coils_used"] < 12
            assert 0 <= report["coil_signal_left_out_over_noise"] <= .1 and .5 < report["coil_energy_kept"] < 1
            assert f"{report['coils_used']} coils, maps" in out
            number, out, _ = image("s.h5", "--prior", "spectrum", "--compress", report["coils_used"])
            assert (number == found).all() and "which keep" in combined(out)[0]
    assert "which keep" in combined(make("s.h5", "-o", "i.h5", "--compress", 3, "--dry-run").out)[0]
    for word in ("0", "-1", "all", "3.5", ""):
        refuse(2, "--compress", "s.h5", "-o", "x.h5", "--compress", word)


def test_images_noise_and_lambda_stay(_):
    """32 coils: the image is the same but for a tenth of its noise, sqrt(1 + 0.01) of the error; 1 % is allowed. sigma is 1,
    lambda follows from the spectrum, which coils with only noise change little: 5 %. The deviation of a voxel's noise is measured
    with 30 replicas, to 1 / sqrt(30 x 2 x voxels) = 0.3 % in the mean, and each voxel has a tenth more at most: 3 % in all."""
    need_h5py()
    phantom("s.h5", *FLAT, "--coils", 32, "--noise-scan", "--noise-correlation", .3)
    found = {}
    for how in ("none", "auto"):
        make("s.h5", "-o", "i.h5", "--compress", how, "--compare", "truth", "--report", "r.json", "--prior", "wavelet")
        sparse = json.loads(pathlib.Path("r.json").read_text())
        make("s.h5", "-o", "i.h5", "--compress", how, "--prior", "spectrum", "--noise-map", "n.h5", "--replicas", 30)
        with h5py.File("n.h5") as file:
            name = next(name for name in file if getattr(file[name], "ndim", 0) >= 3)
            deviation = numpy.abs(file[name][...]).astype(float)
        error = sparse["error"][0] if isinstance(sparse["error"], list) else sparse["error"]
        made = sparse["reconstruction"]
        assert made["noise_sigma"] == 1 and numpy.isfinite(deviation).all()
        found[how] = error["scaled"]["percent"], made["wavelet"]["lambda"], deviation.mean()
    (error, weight, noise), (error_less, weight_less, noise_less) = found["none"], found["auto"]
    print("    error, lambda, noise:", found)
    assert error_less < 1.01 * error and abs(weight_less / weight - 1) < .05 and abs(noise_less / noise - 1) < .03, found


def test_same_bits(_):
    """One mixture for all frames, whichever are made: the noise's spectrum of one frame alone differs by 1e-5, with any coils; other
    mixtures would give other coils and maps. Bits do not depend on threads."""
    need_h5py()
    phantom("s.h5", *FLAT, "--coils", 14, "--frames", 3, "--continue", "--noise-scan")
    found, out, report = image("s.h5", "--prior", "spectrum")
    assert combined(out)
    assert (image("s.h5", "--prior", "spectrum", "--threads", 1)[0] == found).all()
    one, _, of_one = image("s.h5", "--prior", "spectrum", "--frames", 2)
    assert of_one["coil_energy_kept"] == report["coil_energy_kept"] and relative(one[0], found[1]) < 1e-4


def test_saved_maps(_):
    """Maps of virtual coils fit the same scan again, also if auto chose their number; other numbers are refused."""
    need_h5py()
    phantom("s.h5", *FLAT, "--coils", 12, "--noise-scan", "--without", "sensitivity")
    found, _, report = image("s.h5", "--prior", "spectrum", "--save-coils", "m.h5")
    used = report["coils_used"]
    with h5py.File("m.h5") as file:
        assert file["maps"].shape[0] == used and file["maps"].attrs["compressed_from"] == 12
    again, out, _ = image("s.h5", "--prior", "spectrum", "--coils", "m.h5")
    assert relative(again, found) < 1e-6 and "maps from" in out
    assert relative(image("s.h5", "--prior", "spectrum", "--coils", "m.h5", "--compress", used)[0], found) < 1e-6
    refuse(3, "same --compress", "s.h5", "-o", "x.h5", "--coils", "m.h5", "--compress", "none")
    refuse(3, "same --compress", "s.h5", "-o", "x.h5", "--coils", "m.h5", "--compress", used - 1)


def test_loops(_):
    """Small loops around a volume: mixtures of their own along the readouts are a quarter fewer at least, and the image is the same but
    for a tenth of its noise, as above. The maps are estimated, from other virtual coils: 2 % is allowed. They explain the data,
    for which ESPIRiT needs more than the 12 components that it usually takes in 3D. The maps fit the same scan again."""
    need_h5py()
    loop_coils.make("s.h5", (32, 40, 32), 2, 10, coils=24, centre=20)
    found, out, report = image("s.h5", "--save-coils", "m.h5")
    error = loop_coils.error("i.h5", "s.h5")
    again, _, _ = image("s.h5", "--coils", "m.h5")
    image("s.h5", "--save-coils", "m.cfl")
    other, _, _ = image("s.h5", "--coils", "m.cfl")
    _, _, principal = image("s.h5", "--compress-method", "principal")
    _, told, _ = image("s.h5", "--compress", "none")
    without = loop_coils.error("i.h5", "s.h5")
    print(f"    {report['coils_used']} coils, {principal['coils_used']} principal; errors {error:.3f} %, with all coils {without:.3f} %")
    assert "each position along x" in combined(out)[0] and report["coils_combined_along"] == "x", out
    assert report["coils_used"] <= .75 * principal["coils_used"] and principal["coils_combined_along"] == ""
    assert error < 1.02 * without and relative(again, found) < 1e-6 and relative(other, found) < 1e-6
    for text in (out, told):
        assert float(text.split("(ESPIRiT), which explain ")[1].split()[0]) > 98, text
    refuse(3, "--compress-method geometric", "s.h5", "-o", "x.h5", "--coils", "m.h5", "--compress-method", "principal")
    phantom("r.h5", *FLAT, "--coils", 12, "--noise-scan")
    refuse(2, "complete Cartesian readouts", "r.h5", "-o", "x.h5", "--compress-method", "geometric")


def test_noise_that_is_not_known(_):
    """Without noise, the outermost samples are signal, and all coils stay; the plan says why."""
    need_h5py()
    phantom("s.h5", *FLAT[:4], "--spokes", 40, "--coils", 12)
    found, out, report = image("s.h5", "--lambda", .001)
    assert "all 12 are used" in combined(out)[0] and "no noise scan" in combined(out)[0], out
    assert report["coils_used"] == report["coils_received"] == 12 and "coil_signal_left_out_over_noise" in report
    assert (image("s.h5", "--lambda", .001, "--compress", "none")[0] == found).all()


if __name__ == "__main__":
    run_tests(globals())
