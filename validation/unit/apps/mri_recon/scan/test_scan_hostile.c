/* ISMRMRD scans from strangers: damaged heaps, which broke HDF5 1.10, and headers that declare what is not there. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "apps/mri_recon/ismrmrd/ismrmrd_fixture.h"
#include "scan/scan_ismrmrd_reader.h"

static const char cartesian[] = "<trajectory>cartesian</trajectory>";

static void write_small(void)
{
    begin_acquisitions();
    for (int line = 0; line < 8; line++)
        acquire(8, 2, 0)->head.idx.kspace_encode_step_1 = (uint16_t)line;
    write_scan(plain_header(8, 8, 1, cartesian));
}

/* Every other bit of the first 32 bytes of each heap of arrays ("GCOL": signature, version, size, then the first object's number,
 * references and size): the scan is read, or refused with one message. In HDF5 1.10 more than half of
 * these ended the program by a signal. */
static void test_flipped_bits_in_heaps(void **state)
{
    (void)state;
    enum { HEAD = 32, MOST = 1 << 20 };
    char *bytes = malloc(MOST);
    int heaps = 0, refused = 0;
    write_small();
    const int file = open(path, O_RDWR);
    const ssize_t size = read(file, bytes, MOST);
    assert_true(file >= 0 && size > HEAD && size < MOST);
    for (ssize_t at = 0; at + HEAD < size; at++) {
        if (memcmp(bytes + at, "GCOL", 4) != 0)
            continue;
        heaps++;
        for (int bit = heaps % 2; bit < 8 * HEAD; bit += 2) {
            const char flipped = (char)(bytes[at + bit / 8] ^ 1 << bit % 8);
            assert_int_equal(pwrite(file, &flipped, 1, at + bit / 8), 1);
            scan_free(&s);
            const vf_status status = read_scan(ctx, path, &(scan_request){.group = NULL}, &s);
            if (status != VF_OK && (status != VF_ERR_INPUT || !strstr(vf_context_message(ctx), path)))
                fail_msg("bit %d: %s, '%s'", bit, vf_status_name(status), vf_context_message(ctx));
            refused += status != VF_OK;
            vf_context_clear_error(ctx);
            assert_int_equal(pwrite(file, bytes + at + bit / 8, 1, at + bit / 8), 1);
        }
    }
    assert_true(heaps >= 1 && refused >= 4 * 4); /* the signature, at least */
    assert_true(waitpid(-1, NULL, WNOHANG) < 0); /* no process is left */
    close(file);
    free(bytes);
}

/* Headers of 20 readouts declare 20 GB; the file has some kilobytes. Nothing of that size is asked for. */
static void test_samples_that_are_not_there(void **state)
{
    (void)state;
    begin_acquisitions();
    for (int line = 0; line < 20; line++) {
        ismrmrd_acquisition *a = acquire(8, 2, 0);
        a->head.idx.kspace_encode_step_1 = (uint16_t)line;
        a->head.number_of_samples = 62500;
        a->head.active_channels = 2000;
        a->head.center_sample = 31250;
    }
    write_scan(plain_header(16000, 32, 1, "<trajectory>radial</trajectory>"));
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "");
    for (int line = 0; line < 20; line++)
        acquired[line].head.number_of_samples = 8000, acquired[line].head.center_sample = 4000;
    write_scan(plain_header(16000, 32, 1, cartesian));
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "the headers declare 2.56 GB of samples, but the file has only ");
}

/* ---- a source without a file ---- */

static int64_t asked;

static vf_status empty_heads(vf_context *c, void *user, int64_t first, int64_t count, ismrmrd_acquisition_header *out)
{
    (void)c, (void)user;
    memset(out, 0, (size_t)count * sizeof *out);
    asked = first + count;
    return VF_OK;
}

static vf_status no_bodies(vf_context *c, void *user, int64_t first, int64_t count, size_t bytes, ismrmrd_body *out)
{
    (void)c, (void)user, (void)first, (void)count, (void)bytes, (void)out;
    fail_msg("asked for the samples of empty acquisitions");
    return VF_OK;
}

/* Compressed, a billion empty acquisitions are a small file. */
static void test_millions_of_empty_acquisitions(void **state)
{
    (void)state;
    const ismrmrd_source source = {path, NULL, 4000000, 0, empty_heads, no_bodies, NULL, false};
    ismrmrd_protocol protocol;
    const char *xml = plain_header(8, 8, 1, cartesian);
    need(ismrmrd_parse_xml(ctx, path, xml, strlen(xml), &protocol));
    asked = 0;
    assert_int_equal(ismrmrd_assemble(ctx, &source, &protocol, &(scan_request){.units = K_AUTO}, &s), VF_ERR_INPUT);
    assert_non_null(strstr(vf_context_message(ctx), "more than 1048576 acquisitions have no samples"));
    assert_true(asked < 1100000);
    vf_context_clear_error(ctx);
}

ISMRMRD_MAIN(TEST(test_flipped_bits_in_heaps), TEST(test_samples_that_are_not_there),
             TEST(test_millions_of_empty_acquisitions))
