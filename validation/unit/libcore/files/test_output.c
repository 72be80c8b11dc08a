/* Files that appear complete or not at all: the contents of the folder at every step, and after every failure. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "voxfield/output.h"

static vf_context *ctx;
static char start[4096], folder[4096];

/* Every test runs in its own empty folder. */
static int enter(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/test_output.XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) != 0 || vf_context_create(&ctx) != VF_OK)
        return -1;
    umask(022);
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return chdir(start) != 0 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *name, const char *expected)
{
    char text[256];
    FILE *file = fopen(name, "r");
    if (!file)
        fail_msg("%s: %s", name, strerror(errno));
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static int files_here(void)
{
    int n = 0;
    DIR *here = opendir(".");
    assert_non_null(here);
    while (readdir(here))
        n++;
    closedir(here);
    return n - 2; /* . and .. */
}

/* Whether files have no name until they are whole: if the file system can. The test test_output_named takes that
 * away. */
static bool unnamed(void)
{
    const int fd = open(".", O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0)
        close(fd);
    assert_true(fd < 0 || !getenv("VOXFIELD_FAULT"));
    return fd >= 0;
}

static vf_output *open_good(const char *path)
{
    vf_output *output = NULL;
    if (vf_output_open(ctx, path, &output) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    assert_non_null(output);
    assert_string_equal(vf_output_path(output), path);
    return output;
}

static void write_text(vf_output *output, const char *text)
{
    assert_int_equal(vf_output_write(output, text, strlen(text)), VF_OK);
}

static void commit(vf_output **output)
{
    if (vf_output_commit(output) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
    assert_null(*output);
}

static mode_t mode_of(const char *name)
{
    struct stat info;
    assert_int_equal(stat(name, &info), 0);
    return info.st_mode & 07777;
}

static void test_appears_with_the_commit(void **state)
{
    (void)state;
    vf_output *output = open_good("map");
    write_text(output, "one ");
    assert_int_equal(vf_output_printf(output, "%d %s", 2, "three"), VF_OK);
    assert_true(fputs(" four", vf_output_stream(output)) >= 0);
    assert_int_equal(access("map", F_OK), -1);
    assert_int_equal(files_here(), unnamed() ? 0 : 1);
    commit(&output);
    assert_holds("map", "one 2 three four");
    assert_int_equal(files_here(), 1);
    assert_int_equal(mode_of("map"), 0644);
    vf_output_discard(&output); /* NULL is allowed */
}

static void test_replaces_with_the_commit(void **state)
{
    (void)state;
    put("map", "old");
    chmod("map", 0640);
    vf_output *output = open_good("map");
    write_text(output, "new");
    fflush(vf_output_stream(output));
    assert_holds("map", "old");
    commit(&output);
    assert_holds("map", "new");
    assert_int_equal(mode_of("map"), 0640);
    assert_int_equal(files_here(), 1);
}

static void test_discard_leaves_nothing(void **state)
{
    (void)state;
    put("old", "old");
    for (int i = 0; i < 2; i++) {
        vf_output *output = open_good(i ? "old" : "new");
        write_text(output, "half");
        fflush(vf_output_stream(output));
        assert_int_equal(files_here(), unnamed() ? 1 : 2);
        vf_output_discard(&output);
        assert_null(output);
        assert_int_equal(files_here(), 1);
    }
    assert_holds("old", "old");
}

/* A file that others have made gets the name at the commit; before, or without one, it stays as it is. */
static void test_adopts(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        vf_output *output;
        if (i > 0) {
            put("map", "old");
            chmod("map", 0640);
        }
        put("made", "0123456789");
        assert_int_equal(vf_output_adopt(ctx, "map", "made", &output), VF_OK);
        assert_int_equal(access("map", F_OK), i > 0 ? 0 : -1);
        write_text(output, "head");
        if (i == 2) {
            vf_output_discard(&output);
            assert_holds("map", "old");
            assert_holds("made", "head456789");
            continue;
        }
        commit(&output);
        assert_holds("map", "head456789");
        assert_int_equal(access("made", F_OK), -1);
        assert_int_equal(mode_of("map"), i > 0 ? 0640 : 0644);
    }
    vf_output *output;
    assert_int_equal(vf_output_adopt(ctx, "map", "absent", &output), VF_ERR_OUTPUT);
    assert_null(output);
    assert_int_equal(vf_output_adopt(ctx, "/dev/null", "made", &output), VF_ERR_OUTPUT);
    assert_null(output);
    assert_holds("made", "head456789");
    vf_context_clear_error(ctx);
}

/* Whatever ends the process, it leaves the old file, or none. */
static void test_kill(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        if (old)
            put("map", "old");
        const pid_t child = fork();
        if (child == 0) {
            vf_output *output = NULL;
            if (vf_output_open(ctx, "map", &output) == VF_OK && vf_output_printf(output, "half") == VF_OK)
                fflush(vf_output_stream(output));
            kill(getpid(), SIGKILL);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        if (old)
            assert_holds("map", "old");
        else
            assert_int_equal(access("map", F_OK), -1);
        if (unnamed())
            assert_int_equal(files_here(), old);
    }
}

static void test_cancelled_while_no_one_reads(void **state)
{
    (void)state;
    vf_output *output = NULL;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    vf_context_cancel(ctx);
    assert_int_equal(vf_output_open(ctx, "pipe", &output), VF_ERR_CANCELLED);
    assert_null(output);
    assert_string_equal(vf_context_message(ctx), "interrupted");
}

static void test_umask(void **state)
{
    (void)state;
    umask(027);
    vf_output *output = open_good("map");
    struct stat info;
    assert_int_equal(fstat(fileno(vf_output_stream(output)), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    commit(&output);
    assert_int_equal(mode_of("map"), 0640);
    assert_int_equal(umask(022), 027); /* and it stays */
}

static void assert_refused(const char *path, const char *why)
{
    vf_output *output = (vf_output *)&output;
    vf_context_clear_error(ctx);
    int before = files_here();
    assert_int_equal(vf_output_open(ctx, path, &output), VF_ERR_OUTPUT);
    assert_null(output);
    if (!strstr(vf_context_message(ctx), path) || !strstr(vf_context_message(ctx), why))
        fail_msg("'%s' does not say '%s' and '%s'", vf_context_message(ctx), path, why);
    assert_int_equal(files_here(), before);
}

static void test_refuses_before_the_work(void **state)
{
    (void)state;
    mkdir("folder", 0755);
    put("file", "");
    assert_refused("no/such", "No such file or directory; its folder does not exist");
    assert_refused("folder", "directory");
    assert_refused("folder/", "directory");
    assert_refused("new/", "not a file name");
    assert_refused("", "not a file name");
    assert_refused("file/map", "Not a directory");
    char long_name[400];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_refused(long_name, "File name too long");
}

static void test_write_protection(void **state)
{
    (void)state;
    const bool root = geteuid() == 0; /* who ignores permissions: the test goes on as nobody */
    if (root) {
        chmod(".", 0777);
        assert_int_equal(setresuid(65534, 65534, 0), 0);
    }
    put("kept", "precious");
    chmod("kept", 0444);
    assert_refused("kept", "Permission denied");
    assert_holds("kept", "precious");
    mkdir("locked", 0555);
    assert_refused("locked/map", "Permission denied; write to a folder that is yours");
    if (root)
        assert_int_equal(setresuid(0, 0, 0), 0);
}

/* Another process with this number (on another host, in another container), or one that was killed. */
static void test_leaves_other_temporaries_alone(void **state)
{
    (void)state;
    char stale[64], again[64];
    snprintf(stale, sizeof stale, ".map.%ld.part", (long)getpid());
    snprintf(again, sizeof again, ".map.%ld-1.part", (long)getpid());
    put(stale, "another's");
    put(again, "one more");
    vf_output *one = open_good("map"), *two = open_good("map");
    write_text(one, "one");
    write_text(two, "two");
    commit(&two);
    assert_holds("map", "two");
    commit(&one);
    assert_holds("map", "one");
    assert_holds(stale, "another's");
    assert_holds(again, "one more");
    assert_int_equal(files_here(), 3);
}

static void test_links(void **state)
{
    (void)state;
    struct stat info;
    mkdir("there", 0755);
    put("there/target", "old");
    assert_int_equal(symlink("there/target", "first"), 0);
    assert_int_equal(symlink("first", "second"), 0);
    assert_int_equal(symlink("new", "there/dangling"), 0);
    assert_int_equal(symlink("there/dangling", "third"), 0);
    const char *const links[] = {"second", "third"}, *const targets[] = {"there/target", "there/new"};
    for (int i = 0; i < 2; i++) {
        vf_output *output = open_good(links[i]);
        write_text(output, "new");
        commit(&output);
        assert_int_equal(lstat(links[i], &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_int_equal(lstat(targets[i], &info), 0);
        assert_true(S_ISREG(info.st_mode));
        assert_holds(targets[i], "new");
    }
}

static void test_special_files_are_written_directly(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(symlink("/dev/null", "null"), 0);
    for (int i = 0; i < 2; i++) {
        vf_output *output = open_good(i ? "/dev/null" : "null");
        assert_true(vf_output_direct(output));
        assert_true(vf_output_space(output) == UINT64_MAX);
        write_text(output, "gone");
        if (i == 0)
            commit(&output);
        else
            vf_output_discard(&output);
    }
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(files_here(), 1);
}

/* Write errors may come with the write, the flush or the close: each must be detected. */
static void test_full_disk(void **state)
{
    (void)state;
    static char block[1 << 16];
    vf_output *output = open_good("/dev/full");
    write_text(output, "fits the buffer");
    assert_int_equal(vf_output_commit(&output), VF_ERR_OUTPUT);
    assert_null(output);
    assert_non_null(strstr(vf_context_message(ctx), "/dev/full: cannot write: No space left on device"));

    vf_context_clear_error(ctx);
    output = open_good("/dev/full");
    vf_status status = VF_OK;
    for (int i = 0; i < 1000 && status == VF_OK; i++)
        status = vf_output_write(output, block, sizeof block);
    assert_int_equal(status, VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(ctx), "No space left on device"));
    vf_output_discard(&output);

    vf_context_clear_error(ctx);
    output = open_good("/dev/full");
    status = VF_OK;
    for (int i = 0; i < 1000000 && status == VF_OK; i++)
        status = vf_output_printf(output, "%0*d", 1000, i);
    assert_int_equal(status, VF_ERR_OUTPUT);
    assert_int_equal(vf_output_commit(&output), VF_ERR_OUTPUT);
}

static void test_file_size_limit(void **state)
{
    (void)state;
    struct rlimit before, limit;
    put("map", "old");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 4, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    vf_output *output = open_good("map");
    write_text(output, "more than four");
    vf_status status = vf_output_commit(&output);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, VF_ERR_OUTPUT);
    assert_non_null(strstr(vf_context_message(ctx), "map: cannot write: File too large"));
    assert_holds("map", "old");
    assert_int_equal(files_here(), 1);
}

static void test_rename_that_fails(void **state)
{
    (void)state;
    vf_output *output = open_good("map");
    write_text(output, "new");
    mkdir("map", 0755);
    assert_int_equal(vf_output_commit(&output), VF_ERR_OUTPUT);
    assert_null(output);
    assert_int_equal(files_here(), 1); /* the folder; the temporary file is gone */
}

static void test_space(void **state)
{
    (void)state;
    vf_output *output = open_good("map");
    uint64_t space = vf_output_space(output);
    assert_true(space > 0 && space < (uint64_t)1 << 60);
    vf_output_discard(&output);
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_appears_with_the_commit),
                                       TEST(test_replaces_with_the_commit),
                                       TEST(test_discard_leaves_nothing),
                                       TEST(test_adopts),
                                       TEST(test_kill),
                                       TEST(test_cancelled_while_no_one_reads),
                                       TEST(test_umask),
                                       TEST(test_refuses_before_the_work),
                                       TEST(test_write_protection),
                                       TEST(test_leaves_other_temporaries_alone),
                                       TEST(test_links),
                                       TEST(test_special_files_are_written_directly),
                                       TEST(test_full_disk),
                                       TEST(test_file_size_limit),
                                       TEST(test_rename_that_fails),
                                       TEST(test_space)};
    if (!getcwd(start, sizeof start))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
