#include "ismrmrd_xml.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "voxfield/parse.h"

void ismrmrd_protocol_reset(ismrmrd_protocol *out)
{
    *out = (ismrmrd_protocol){.encodings = 1, .noise_bandwidth = 1};
    for (int e = 0; e < ISMRMRD_MOST_ENCODINGS; e++)
        out->encoding[e].step_1 = out->encoding[e].step_2 = out->encoding[e].slice = (ismrmrd_limit){-1, -1, -1};
}

#ifdef VF_HAVE_EXPAT
#include <expat.h>

#if XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION < 9
#define XML_GetCurrentLineNumber64 XML_GetCurrentLineNumber /* which expat 2.9 deprecates */
#endif

enum { MOST_DEPTH = 64, PATH_SIZE = 256, TEXT_SIZE = 64 };

typedef enum kind { NUMBER, WHOLE, ROUNDED, WORD } kind;

/* The destination of an element's content. Names are compared without namespace, in any case. */
typedef struct element {
    const char *path;
    kind kind;
    size_t offset;
} element;

#define AT(member) offsetof(ismrmrd_encoding, member)
#define THREE(path, member, kind)                                                                                      \
    {path "/x", kind, AT(member)}, {path "/y", kind, AT(member) + 8},                                                  \
    {                                                                                                                  \
        path "/z", kind, AT(member) + 16                                                                               \
    }
#define LIMITS(path, member)                                                                                           \
    {path "/minimum", WHOLE, AT(member.minimum)}, {path "/maximum", WHOLE, AT(member.maximum)},                        \
    {                                                                                                                  \
        path "/center", WHOLE, AT(member.center)                                                                       \
    }
#define ROOT "/ismrmrdHeader"
#define ENCODING ROOT "/encoding"

/* Of each encoding. */
static const element encoding_elements[] = {
    THREE("/encodedSpace/matrixSize", encoded.matrix, ROUNDED),
    THREE("/encodedSpace/fieldOfView_mm", encoded.fov, NUMBER),
    THREE("/reconSpace/matrixSize", recon.matrix, ROUNDED),
    THREE("/reconSpace/fieldOfView_mm", recon.fov, NUMBER),
    LIMITS("/encodingLimits/kspace_encoding_step_1", step_1),
    LIMITS("/encodingLimits/kspace_encoding_step_2", step_2),
    LIMITS("/encodingLimits/slice", slice),
    {"/trajectory", WORD, AT(trajectory)},
    {"/parallelImaging/calibrationMode", WORD, AT(calibration_mode)},
    {"/parallelImaging/multiband/multiband_factor", WHOLE, AT(multiband)},
};
static const element header_elements[] = {
    {"/acquisitionSystemInformation/systemVendor", WORD, offsetof(ismrmrd_protocol, vendor)},
    {"/acquisitionSystemInformation/relativeReceiverNoiseBandwidth", NUMBER,
     offsetof(ismrmrd_protocol, noise_bandwidth)},
    {"/sequenceParameters/diffusionDimension", WORD, offsetof(ismrmrd_protocol, diffusion)},
};
/* Names of the header's user parameters. */
static const element user_parameters[] = {
    {"mrAcquisitionType", WORD, offsetof(ismrmrd_protocol, acquisition_type)},
};
/* Names of the values in trajectoryDescription's userParameterLong and userParameterDouble. */
static const element epi_parameters[] = {
    {"rampUpTime", NUMBER, AT(epi.ramp_up)},     {"flatTopTime", NUMBER, AT(epi.flat_top)},
    {"rampDownTime", NUMBER, AT(epi.ramp_down)}, {"acqDelayTime", NUMBER, AT(epi.delay)},
    {"dwellTime", NUMBER, AT(epi.dwell)},        {"numSamples", WHOLE, AT(epi.samples)},
};
enum {
    ENCODING_ELEMENTS = sizeof encoding_elements / sizeof *encoding_elements,
    HEADER_ELEMENTS = sizeof header_elements / sizeof *header_elements,
    EPI_PARAMETERS = sizeof epi_parameters / sizeof *epi_parameters,
    USER_PARAMETERS = sizeof user_parameters / sizeof *user_parameters
};

typedef struct parser {
    XML_Parser expat;
    ismrmrd_protocol *out;
    char path[PATH_SIZE];          /* of the open element */
    size_t length[MOST_DEPTH + 1]; /* of the path, by depth */
    int depth;
    char text[TEXT_SIZE]; /* its content so far */
    char name[TEXT_SIZE]; /* of the user parameter whose value follows */
    size_t used;
    bool declares_entity, too_deep;
} parser;

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    parser *p = user;
    (void)attributes;
    const char *colon = strrchr(name, ':');
    const char *local = colon ? colon + 1 : name;
    size_t before = p->length[p->depth], size = strlen(local);
    if (p->depth == MOST_DEPTH) {
        p->too_deep = true;
        XML_StopParser(p->expat, XML_FALSE);
        return;
    }
    /* A name that does not fit is not one of ours; it becomes a mark that matches nothing. */
    if (before + 1 + size + 1 > PATH_SIZE) {
        local = "?";
        size = before + 3 > PATH_SIZE ? 0 : 1;
    }
    if (size > 0) {
        p->path[before] = '/';
        memcpy(p->path + before + 1, local, size);
        before += 1 + size;
    }
    p->path[before] = 0;
    p->length[++p->depth] = before;
    p->used = 0;
    if (strcasecmp(p->path, ENCODING) == 0)
        p->out->encodings++;
}

static void XMLCALL on_text(void *user, const XML_Char *text, int size)
{
    parser *p = user;
    for (int i = 0; i < size && p->used + 1 < TEXT_SIZE; i++) {
        bool blank = text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r';
        if (!blank || p->used > 0)
            p->text[p->used++] = text[i];
    }
}

/* An invalid number keeps the old value: "not in the file". */
static void store(const parser *p, const element *e, void *whole)
{
    char *at = (char *)whole + e->offset;
    double number;
    int64_t integer;
    if (e->kind == WORD) {
        snprintf(at, ISMRMRD_WORD, "%s", p->text);
        for (char *c = at; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c < ' ' || *c > '~' ? '?' : *c);
        return;
    }
    if (vf_parse_doubles(p->text, 1, 1, &number) != 1 || !(fabs(number) <= 1e9))
        return;
    integer = llround(number);
    if (e->kind == NUMBER)
        memcpy(at, &number, sizeof number);
    else if (fabs((double)integer - number) <= (e->kind == ROUNDED ? 0.01 : 0)) {
        memcpy(at, &integer, sizeof integer);
        if (e->kind == ROUNDED && (double)integer != number)
            ((ismrmrd_encoding *)whole)->rounded = true;
    }
}

/* A user parameter of `parent`: its name, then its value. */
static void user_parameter(parser *p, const char *path, const char *parent, const element *elements, int count,
                           void *to)
{
    const char *last = strrchr(path, '/');
    if (strncasecmp(path, parent, strlen(parent)) != 0)
        return;
    if (strcasecmp(last, "/name") == 0)
        snprintf(p->name, sizeof p->name, "%s", p->text);
    for (int i = 0; strcasecmp(last, "/value") == 0 && i < count; i++)
        if (strcasecmp(p->name, elements[i].path) == 0)
            store(p, &elements[i], to);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
    parser *p = user;
    const size_t root = strlen(ROOT), encoding = strlen(ENCODING);
    const int number = p->out->encodings;
    (void)name;
    while (p->used > 0 && strchr(" \t\r\n", p->text[p->used - 1]))
        p->used--;
    p->text[p->used] = 0;
    if (number >= 1 && number <= ISMRMRD_MOST_ENCODINGS && strncasecmp(p->path, ENCODING "/", encoding + 1) == 0) {
        ismrmrd_encoding *to = &p->out->encoding[number - 1];
        for (int i = 0; i < ENCODING_ELEMENTS; i++)
            if (strcasecmp(p->path + encoding, encoding_elements[i].path) == 0)
                store(p, &encoding_elements[i], to);
        user_parameter(p, p->path + encoding, "/trajectoryDescription/userParameter", epi_parameters, EPI_PARAMETERS,
                       to);
    } else if (strncasecmp(p->path, ROOT "/", root + 1) == 0) {
        for (int i = 0; i < HEADER_ELEMENTS; i++)
            if (strcasecmp(p->path + root, header_elements[i].path) == 0)
                store(p, &header_elements[i], p->out);
        user_parameter(p, p->path + root, "/userParameters/userParameter", user_parameters, USER_PARAMETERS, p->out);
    }
    p->path[p->length[--p->depth]] = 0;
    p->used = 0;
}

/* No header needs its own entities. Attacks use them to expand small files or to access other files. */
static void XMLCALL on_entity(void *user, const XML_Char *name, int is_parameter, const XML_Char *value, int size,
                              const XML_Char *base, const XML_Char *system, const XML_Char *public_id,
                              const XML_Char *notation)
{
    parser *p = user;
    (void)name, (void)is_parameter, (void)value, (void)size, (void)base, (void)system, (void)public_id, (void)notation;
    p->declares_entity = true;
    XML_StopParser(p->expat, XML_FALSE);
}

/* Parses in an encoding, or the declared one. `last`: what is not in it is an error; otherwise only `error` says so. */
static vf_status run(vf_context *ctx, const char *path, const char *text, size_t size, const char *encoding, bool last,
                     parser *p, enum XML_Error *error)
{
    vf_status status = VF_OK;
    ismrmrd_protocol_reset(p->out);
    p->out->encodings = 0;
    *error = XML_ERROR_NONE;
    p->expat = XML_ParserCreate(encoding);
    if (!p->expat)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to parse the XML header", path);
    XML_SetUserData(p->expat, p);
    XML_SetElementHandler(p->expat, on_start, on_end);
    XML_SetCharacterDataHandler(p->expat, on_text);
    XML_SetEntityDeclHandler(p->expat, on_entity);
    if (XML_Parse(p->expat, text, (int)size, XML_TRUE) != XML_STATUS_OK)
        *error = XML_GetErrorCode(p->expat);
    unsigned long line = XML_GetCurrentLineNumber64(p->expat);
    bool encoding_trouble = *error == XML_ERROR_INVALID_TOKEN || *error == XML_ERROR_UNKNOWN_ENCODING ||
                            *error == XML_ERROR_INCORRECT_ENCODING || *error == XML_ERROR_PARTIAL_CHAR;
    if (p->declares_entity)
        status = vf_fail(ctx, VF_ERR_INPUT,
                         "%s: xml: line %lu declares an entity, which is not allowed in an ISMRMRD header", path, line);
    else if (p->too_deep)
        status =
            vf_fail(ctx, VF_ERR_INPUT, "%s: xml: line %lu: elements nested more than %d deep", path, line, MOST_DEPTH);
    else if (*error == XML_ERROR_NO_MEMORY)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to parse the XML header", path);
    else if (*error != XML_ERROR_NONE && !(encoding_trouble && !last))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: xml: line %lu: %s", path, line, XML_ErrorString(*error));
    XML_ParserFree(p->expat);
    return status;
}

vf_status ismrmrd_parse_xml(vf_context *ctx, const char *path, const char *text, size_t size, ismrmrd_protocol *out)
{
    enum XML_Error error;
    if (size > ISMRMRD_XML_MOST)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: xml: the header has %zu bytes; at most %d are supported", path, size,
                       ISMRMRD_XML_MOST);
    parser p = {.out = out};
    vf_status status = run(ctx, path, text, size, NULL, false, &p, &error);
    if (status == VF_OK && error == XML_ERROR_UNKNOWN_ENCODING) {
        /* windows-1252, or UTF8 without its hyphen: mostly only ASCII. */
        p = (parser){.out = out};
        status = run(ctx, path, text, size, "UTF-8", false, &p, &error);
    }
    if (status == VF_OK && error != XML_ERROR_NONE) {
        /* Names of patients and hospitals may be in Latin-1, whatever the first line says. */
        p = (parser){.out = out};
        status = run(ctx, path, text, size, "ISO-8859-1", true, &p, &error);
        if (status == VF_OK)
            vf_warn(ctx, "%s: xml: not in the declared encoding; reading it as Latin-1", path);
    }
    if (status == VF_OK && out->encodings == 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: xml: ismrmrdHeader/encoding is missing", path);
    return status;
}

#else

vf_status ismrmrd_parse_xml(vf_context *ctx, const char *path, const char *text, size_t size, ismrmrd_protocol *out)
{
    (void)text, (void)size;
    *out = (ismrmrd_protocol){0};
    return vf_fail(
        ctx, VF_ERR_UNSUPPORTED,
        "%s: this is an ISMRMRD file, but this build cannot read XML; install expat (package libexpat1-dev) and build "
        "again",
        path);
}
#endif
