#include "voxfield/status.h"

static const struct {
    const char *name, *text;
    int exit_code;
} table[] = {
#define VF_STATUS_ROW(name, exit_code, text) {#name, text, exit_code},
    VF_STATUS_LIST(VF_STATUS_ROW)
#undef VF_STATUS_ROW
};

static int known(vf_status status)
{
    return (unsigned)status < VF_STATUS_COUNT;
}

const char *vf_status_name(vf_status status)
{
    return known(status) ? table[status].name : "VF_UNKNOWN";
}

const char *vf_status_text(vf_status status)
{
    return known(status) ? table[status].text : "unknown status";
}

int vf_status_exit_code(vf_status status)
{
    return known(status) ? table[status].exit_code : table[VF_ERR_INTERNAL].exit_code;
}
