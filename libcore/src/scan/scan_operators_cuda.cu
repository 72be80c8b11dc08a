/* Scans on a GPU with other operators than sums. Inclusive and exclusive scans are one kernel, chosen at run time: these
 * operators are many, and seldom used. */
#include "scan_works.cuh"

namespace
{

template <typename T, typename Op>
const vf_scan_entry *entry_for(const vf_scan_options *o)
{
    static const vf_scan_entry entries[2] = {vf_scan_entry_of<vf_scan_work<T, T, Op, VF_EITHER, false>>(),
                                             vf_scan_entry_of<vf_scan_work<T, T, Op, VF_EITHER, true>>()};
    return &entries[o->segmented];
}

/* T: signed or floating-point; U: T, or unsigned, as products of integers wrap around. */
template <typename T, typename U>
const vf_scan_entry *number_entry(const vf_scan_options *o)
{
    switch (o->op) {
    case VF_SCAN_PRODUCT:
        return entry_for<U, vf_scan_multiplying<U>>(o);
    case VF_SCAN_MIN:
        return entry_for<T, vf_scan_extreme<T, true>>(o);
    default:
        return entry_for<T, vf_scan_extreme<T, false>>(o);
    }
}

template <typename T, typename U>
const vf_scan_entry *integer_entry(const vf_scan_options *o)
{
    switch (o->op) {
    case VF_SCAN_AND:
        return entry_for<U, vf_scan_bits<U, false>>(o);
    case VF_SCAN_OR:
        return entry_for<U, vf_scan_bits<U, true>>(o);
    default:
        return number_entry<T, U>(o);
    }
}

} // namespace

const vf_scan_entry *vf_find_scan_operator(const vf_scan_options *o)
{
    switch (o->type) {
    case VF_F32:
        return number_entry<float, float>(o);
    case VF_F64:
        return number_entry<double, double>(o);
    case VF_I32:
        return integer_entry<int32_t, uint32_t>(o);
    default:
        return integer_entry<int64_t, uint64_t>(o);
    }
}
