/* The existence of objects in an HDF5 file, and attributes. The rest of hdf5_io.h is in hdf5_io.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_internal.h"

enum { TEXT_MOST = 1 << 24 }; /* longest text of fixed length, in bytes; more means a damaged file */

/* Writes one attribute, replacing any of that name. */
static vf_status write_attribute(vf_h5 *file, const char *object, const char *name, hid_t stored, hid_t memory,
                                 hid_t space, const void *value)
{
    vf_status status = VF_OK;
    hid_t attribute = H5I_INVALID_HID;
    hid_t id = H5Oopen(file->id, object, H5P_DEFAULT);
    if (id >= 0 && H5Aexists(id, name) > 0)
        H5Adelete(id, name);
    if (id >= 0)
        attribute = H5Acreate2(id, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory, value) < 0)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot write the attribute '%s' of '%s'", name, object);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (id >= 0)
        H5Oclose(id);
    return status;
}

vf_status vf_h5_attribute_text(vf_h5 *file, const char *object, const char *name, const char *text)
{
    /* Variable length: Python gets str, not bytes, and the text may be longer than an attribute's 64 KiB. */
    vf_h5_printing before = vf_h5_enter();
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    vf_status status = write_attribute(file, object, name, type, type, space, &text);
    H5Sclose(space);
    H5Tclose(type);
    return vf_h5_leave(file, before, status);
}

vf_status vf_h5_attribute_texts(vf_h5 *file, const char *object, const vf_h5_text *texts, size_t n)
{
    vf_status status = VF_OK;
    for (size_t i = 0; i < n; i++)
        if (texts[i].text)
            VF_TRY(status, vf_h5_attribute_text(file, object, texts[i].name, texts[i].text));
    return status;
}

static vf_status write_vector(vf_h5 *file, const char *object, const char *name, hid_t stored, hid_t memory,
                              const void *values, int n)
{
    hsize_t length = (hsize_t)n;
    hid_t space = n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    vf_status status = write_attribute(file, object, name, stored, memory, space, values);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

vf_status vf_h5_attribute_doubles(vf_h5 *file, const char *object, const char *name, const double *values, int n)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = write_vector(file, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, n);
    return vf_h5_leave(file, before, status);
}

vf_status vf_h5_attribute_integers(vf_h5 *file, const char *object, const char *name, const int64_t *values, int n)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = write_vector(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, values, n);
    return vf_h5_leave(file, before, status);
}

/* ---- questions ---- */

enum { OBJECT_SIZE = 1024, ATTRIBUTE_SIZE = 256 };

typedef struct attribute_question {
    char object[OBJECT_SIZE], name[ATTRIBUTE_SIZE]; /* "": the object itself */
    int32_t count;                                  /* of numbers; of bytes */
} attribute_question;

/* Asks about an attribute, or an object. */
static vf_status ask(vf_h5 *file, vf_h5_answer answer, const char *object, const char *name, int count, void *reply,
                     size_t most, size_t *got)
{
    attribute_question q = {.count = count};
    if (!vf_h5_name(q.object, sizeof q.object, object) || !vf_h5_name(q.name, sizeof q.name, name))
        return vf_fail(file->ctx, VF_ERR_ARGUMENT, "%s: the name of an object or attribute is too long", file->path);
    return vf_h5_ask(file, answer, &q, sizeof q, reply, most, got, NULL);
}

/* The same for a reply of exactly `bytes`. */
static vf_status ask_values(vf_h5 *file, vf_h5_answer answer, const char *object, const char *name, int count,
                            void *reply, size_t bytes)
{
    size_t got = 0;
    vf_status status = ask(file, answer, object, name, count, reply, bytes, &got);
    if (status == VF_OK && got != bytes)
        status =
            vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' is damaged", file->path, name, object);
    return status;
}

/* ---- existence ---- */

static bool is_group(const vf_h5 *file, const char *path)
{
    const hid_t id = H5Oopen(file->id, path, H5P_DEFAULT);
    const bool is = id < 0 || H5Iget_type(id) == H5I_GROUP; /* what cannot be opened may be one */
    if (id >= 0)
        H5Oclose(id);
    return is;
}

/* Whether the object at `path` exists, if what leads to it does. A link may lead nowhere. *known false: a link out of
 * the file, which is refused by name where it is opened; or HDF5 cannot tell. */
static bool is_there(const vf_h5 *file, const char *path, bool *known)
{
    H5L_info_t info;
    const htri_t link = H5Lexists(file->id, path, H5P_DEFAULT);
    *known = link == 0;
    if (link <= 0 || H5Lget_info(file->id, path, &info, H5P_DEFAULT) < 0 ||
        (info.type != H5L_TYPE_HARD && info.type != H5L_TYPE_SOFT))
        return link != 0;
    const htri_t object = H5Oexists_by_name(file->id, path, H5P_DEFAULT);
    *known = object >= 0;
    return object != 0;
}

/* Each part of the path must exist before HDF5 can be asked for the next, and be a group. Where that is not known, the
 * answer is yes, and opening the object will say why: what is taken for missing would change the result without a
 * word. */
static bool object_exists(const vf_h5 *file, const char *name)
{
    char *path = strdup(name);
    bool exists = true, known = true;
    for (char *at = path; exists && known && path && *at;) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char kept = *at;
        *at = '\0';
        if (path[strspn(path, "/")])
            exists = is_there(file, path, &known) && (!known || kept == '\0' || is_group(file, path));
        *at = kept;
    }
    free(path);
    return exists;
}

static vf_status answer_exists(void *file, const void *question, vf_reply *reply)
{
    const attribute_question *q = question;
    char exists = object_exists(file, q->object);
    if (exists && q->name[0])
        exists = H5Aexists_by_name(((vf_h5 *)file)->id, q->object, q->name, H5P_DEFAULT) != 0;
    vf_h5_put(reply, &exists, 1);
    return VF_OK;
}

bool vf_h5_exists(vf_h5 *file, const char *name)
{
    return vf_h5_attribute_exists(file, name, "");
}

bool vf_h5_attribute_exists(vf_h5 *file, const char *object, const char *name)
{
    char exists = 1; /* also if there is no answer: reading will say why */
    return ask_values(file, answer_exists, object, name, 0, &exists, 1) != VF_OK || exists;
}

/* ---- reading ---- */

/* An attribute opened to read; close_stored closes it. */
typedef struct stored_attribute {
    hid_t id, type;
    hssize_t values; /* -1: unknown to HDF5 */
} stored_attribute;

static vf_status open_stored(vf_h5 *file, const char *object, const char *name, stored_attribute *out)
{
    *out = (stored_attribute){H5I_INVALID_HID, H5I_INVALID_HID, -1};
    vf_status status = vf_h5_check_links(file, object);
    if (status != VF_OK)
        return status;
    if (!object_exists(file, object) || H5Aexists_by_name(file->id, object, name, H5P_DEFAULT) == 0)
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: no attribute '%s' at '%s'", file->path, name, object);
    out->id = H5Aopen_by_name(file->id, object, name, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = out->id < 0 ? H5I_INVALID_HID : H5Aget_space(out->id);
    if (space >= 0) {
        out->type = H5Aget_type(out->id);
        out->values = H5Sget_simple_extent_npoints(space);
        H5Sclose(space);
    }
    if (out->type < 0 || out->values < 0)
        return vf_h5_fail(file, VF_ERR_INPUT, "cannot read the attribute '%s' of '%s'", name, object);
    return VF_OK;
}

static void close_stored(const stored_attribute *attribute)
{
    if (attribute->type >= 0)
        H5Tclose(attribute->type);
    if (attribute->id >= 0)
        H5Aclose(attribute->id);
}

static vf_status answer_doubles(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    const attribute_question *q = question;
    const size_t bytes = (size_t)q->count * sizeof(double);
    stored_attribute attribute;
    vf_dtype closest;
    double *values = vf_h5_room(reply, bytes);
    vf_status status = open_stored(file, q->object, q->name, &attribute);
    if (status == VF_OK && (!vf_h5_closest_type(attribute.type, &closest) || !vf_h5_same_kind(closest, VF_F64) ||
                            attribute.values != q->count))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' is not %d number%s", file->path,
                         q->name, q->object, (int)q->count, q->count == 1 ? "" : "s");
    else if (status == VF_OK && (!values || H5Aread(attribute.id, H5T_NATIVE_DOUBLE, values) < 0))
        status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the attribute '%s' of '%s'", q->name, q->object);
    if (status == VF_OK)
        vf_h5_sent(reply, bytes);
    close_stored(&attribute);
    return status;
}

vf_status vf_h5_attribute_get_doubles(vf_h5 *file, const char *object, const char *name, double *values, int n)
{
    return ask_values(file, answer_doubles, object, name, n, values, (size_t)n * sizeof *values);
}

/* Reads `n` integers, stored as any numeric type. False if they are not integers, or cannot be read. */
static bool read_integers(const stored_attribute *attribute, int64_t *values, int n)
{
    const double limit = 9007199254740992.0; /* 2^53: beyond it, a double does not distinguish integers */
    if (H5Tget_class(attribute->type) == H5T_INTEGER)
        return H5Aread(attribute->id, H5T_NATIVE_INT64, values) >= 0;
    double *numbers = H5Tget_class(attribute->type) == H5T_FLOAT ? malloc((size_t)n * sizeof *numbers) : NULL;
    bool whole = numbers && H5Aread(attribute->id, H5T_NATIVE_DOUBLE, numbers) >= 0;
    for (int i = 0; whole && i < n; i++) {
        whole = fabs(numbers[i]) <= limit && floor(numbers[i]) == numbers[i];
        if (whole)
            values[i] = (int64_t)numbers[i];
    }
    free(numbers);
    return whole;
}

static vf_status answer_integers(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    const attribute_question *q = question;
    const size_t bytes = (size_t)q->count * sizeof(int64_t);
    stored_attribute attribute;
    int64_t *values = vf_h5_room(reply, bytes);
    vf_status status = open_stored(file, q->object, q->name, &attribute);
    if (status == VF_OK && (attribute.values != q->count || !values || !read_integers(&attribute, values, q->count)))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' is not %d integer%s", file->path,
                         q->name, q->object, (int)q->count, q->count == 1 ? "" : "s");
    if (status == VF_OK)
        vf_h5_sent(reply, bytes);
    close_stored(&attribute);
    return status;
}

vf_status vf_h5_attribute_get_integers(vf_h5 *file, const char *object, const char *name, int64_t *values, int n)
{
    return ask_values(file, answer_integers, object, name, n, values, (size_t)n * sizeof *values);
}

/* The text of an attribute, to be freed; NULL on failure. */
static char *read_variable_text(const stored_attribute *attribute)
{
    char *stored = NULL, *copy = NULL;
    hid_t memory = H5Tcopy(H5T_C_S1);
    H5Tset_size(memory, H5T_VARIABLE);
    H5Tset_cset(memory, H5Tget_cset(attribute->type));
    if (H5Aread(attribute->id, memory, &stored) >= 0)
        copy = strdup(stored ? stored : ""); /* HDF5 may return an empty text as NULL */
    if (stored)
        H5free_memory(stored);
    H5Tclose(memory);
    return copy;
}

static char *read_fixed_text(const stored_attribute *attribute)
{
    const size_t bytes = H5Tget_size(attribute->type);
    char *text = bytes <= TEXT_MOST ? calloc(bytes + 1, 1) : NULL;
    if (text && H5Aread(attribute->id, attribute->type, text) < 0) {
        free(text);
        text = NULL;
    }
    if (text && H5Tget_strpad(attribute->type) == H5T_STR_SPACEPAD)
        for (size_t end = strnlen(text, bytes); end > 0 && text[end - 1] == ' '; end--)
            text[end - 1] = '\0';
    return text;
}

static vf_status answer_text(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    const attribute_question *q = question;
    char *stored = NULL;
    stored_attribute attribute;
    vf_status status = open_stored(file, q->object, q->name, &attribute);
    if (status != VF_OK)
        goto done;
    if (H5Tget_class(attribute.type) != H5T_STRING || attribute.values != 1) {
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' is not text", file->path, q->name,
                         q->object);
        goto done;
    }
    stored = H5Tis_variable_str(attribute.type) > 0 ? read_variable_text(&attribute) : read_fixed_text(&attribute);
    if (!stored)
        status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the attribute '%s' of '%s'", q->name, q->object);
    else if (!vf_h5_put(reply, stored, strlen(stored)))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' has %zu bytes of text, more than %zu",
                         file->path, q->name, q->object, strlen(stored), reply->most);
done:
    free(stored);
    close_stored(&attribute);
    return status;
}

vf_status vf_h5_attribute_get_text(vf_h5 *file, const char *object, const char *name, char *text, size_t size)
{
    size_t got = 0;
    vf_status status = ask(file, answer_text, object, name, 0, text, size - 1, &got);
    text[status == VF_OK ? got : 0] = '\0';
    return status;
}
