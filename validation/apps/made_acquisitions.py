"""ISMRMRD files made of acquisitions, by h5py alone: headers and samples as a test wants them."""
import h5py
import numpy

REVERSE, PHASE_CORRECTION, CALIBRATION = 1 << 21, 1 << 23, 1 << 19  # flags 22, 24, 20

COUNTERS = numpy.dtype([(name, "<u2") for name in (
    "kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast", "phase", "repetition", "set", "segment")]
    + [("user", "<u2", (8,))])
HEAD = numpy.dtype(
    [("version", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("scan_counter", "<u4"),
     ("acquisition_time_stamp", "<u4"), ("physiology_time_stamp", "<u4", (3,)), ("number_of_samples", "<u2"),
     ("available_channels", "<u2"), ("active_channels", "<u2"), ("channel_mask", "<u8", (16,)), ("discard_pre", "<u2"),
     ("discard_post", "<u2"), ("center_sample", "<u2"), ("encoding_space_ref", "<u2"), ("trajectory_dimensions", "<u2"),
     ("sample_time_us", "<f4"), ("position", "<f4", (3,)), ("read_dir", "<f4", (3,)), ("phase_dir", "<f4", (3,)),
     ("slice_dir", "<f4", (3,)), ("patient_table_position", "<f4", (3,)), ("idx", COUNTERS), ("user_int", "<i4", (8,)),
     ("user_float", "<f4", (8,))])
FLOATS = h5py.vlen_dtype(numpy.dtype("<f4"))
ACQUISITION = numpy.dtype([("head", HEAD), ("traj", FLOATS), ("data", FLOATS)])


def three(name, values):
    return f"<{name}>" + "".join(f"<{a}>{v:g}</{a}>" for a, v in zip("xyz", values)) + f"</{name}>"


def header(encoded, fov, image, image_fov, trajectory="cartesian", rest=""):
    """The XML header; `rest` follows the trajectory."""
    limits = "".join(f"<kspace_encoding_step_{i}><minimum>0</minimum><maximum>{n - 1}</maximum><center>{n // 2}</center>"
                     f"</kspace_encoding_step_{i}>" for i, n in ((1, encoded[1]), (2, encoded[2])))
    spaces = "".join(f"<{name}>" + three("matrixSize", n) + three("fieldOfView_mm", f) + f"</{name}>"
                     for name, n, f in (("encodedSpace", encoded, fov), ("reconSpace", image, image_fov)))
    return ('<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding>' + spaces
            + f"<encodingLimits>{limits}</encodingLimits><trajectory>{trajectory}</trajectory>{rest}</encoding></ismrmrdHeader>")


def acquisition(samples, step=0, partition=0, flags=0, center=None, dwell=5., position=(0, 0, 0), **counters):
    """samples: [coil][sample]."""
    samples = numpy.ascontiguousarray(samples, numpy.complex64)
    one = numpy.zeros(1, ACQUISITION)
    head = one["head"][0]
    head["version"], head["flags"] = 1, flags
    head["available_channels"] = head["active_channels"] = samples.shape[0]
    head["number_of_samples"] = samples.shape[1]
    head["center_sample"] = samples.shape[1] // 2 if center is None else center
    head["sample_time_us"], head["position"] = dwell, position
    head["read_dir"], head["phase_dir"], head["slice_dir"] = numpy.eye(3)
    head["idx"]["kspace_encode_step_1"], head["idx"]["kspace_encode_step_2"] = step, partition
    for name, value in counters.items():
        head["idx"][name] = value
    one["traj"][0] = numpy.zeros(0, "<f4")
    one["data"][0] = samples.view("<f4").ravel()
    return one[0]


def write(path, xml, acquisitions):
    with h5py.File(path, "w") as file:
        group = file.create_group("dataset")
        group.create_dataset("xml", data=[xml], dtype=h5py.string_dtype("ascii"))
        data = group.create_dataset("data", (len(acquisitions),), ACQUISITION)
        for i, one in enumerate(acquisitions):
            data[i] = one
    return path
