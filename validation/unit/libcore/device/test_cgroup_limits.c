/* Limits of control groups, in made-up trees: every group from the process's own to the mount counts. */
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/cgroup_limits.h"
#include "test_main.h"
#include "voxfield/append.h"
#include "voxfield/context.h"
#include "voxfield/device.h"

static char folder[256];
static const uint64_t MIB = 1 << 20;

static int enter(void **state)
{
    (void)state;
    const char *root = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/test_cgroup.XXXXXX", root ? root : "/tmp");
    return !mkdtemp(folder);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file below the folder, and the folders on the way. */
static void put(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Made-up /proc/self/cgroup and /proc/self/mountinfo. `mounts` contains @ where the folder is. */
static void put_groups(const char *groups, const char *mounts, char where[2][300])
{
    char text[2048] = "";
    for (const char *c = mounts; *c; c++)
        vf_append(text, sizeof text, "%.*s", *c == '@' ? (int)sizeof folder : 1, *c == '@' ? folder : c);
    put("groups", groups);
    put("mounts", text);
    snprintf(where[0], sizeof where[0], "%s/groups", folder);
    snprintf(where[1], sizeof where[1], "%s/mounts", folder);
}

static void expect_cores(const char *groups, const char *mounts, int expected)
{
    char where[2][300];
    put_groups(groups, mounts, where);
    assert_int_equal(vf_cgroup_cores(where[0], where[1]), expected);
}

/* Free and total memory are 1000 and 2000 MiB without limits. */
static void expect(const char *groups, const char *mounts, uint64_t expected_free, uint64_t expected_total)
{
    char where[2][300];
    uint64_t free_bytes = 1000 * MIB, total = 2000 * MIB;
    put_groups(groups, mounts, where);
    vf_cgroup_memory(where[0], where[1], &free_bytes, &total);
    assert_int_equal(free_bytes / MIB, expected_free);
    assert_int_equal(total / MIB, expected_total);
}

static const char version_2[] = "22 1 0:5 / /proc rw - proc proc rw\n"
                                "30 22 0:26 / @/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void test_version_2(void **state)
{
    (void)state;
    put("v2/slurm/job/step/memory.max", "max\n");
    put("v2/slurm/job/step/memory.current", "1048576\n");
    put("v2/slurm/job/memory.max", "419430400\n");     /* 400 MiB */
    put("v2/slurm/job/memory.current", "314572800\n"); /* 300 MiB, of which 200 are cache */
    put("v2/slurm/job/memory.stat", "anon 1\ninactive_file 104857600\nactive_file 104857600\n");
    put("v2/slurm/memory.max", "max\n");
    expect("0::/slurm/job/step\n", version_2, 300, 400); /* the limit is not the group's own */
    expect("0::/slurm\n", version_2, 1000, 2000);
    expect("0::/\n", version_2, 1000, 2000);
    put("v2/slurm/memory.max", "262144000\n"); /* 250 MiB: a smaller one further up */
    put("v2/slurm/memory.current", "0\n");
    expect("0::/slurm/job/step\n", version_2, 250, 250);
    put("v2/slurm/job/step/memory.high", "104857600\n"); /* above it, the kernel slows processes to a crawl */
    expect("0::/slurm/job/step\n", version_2, 99, 100);
    put("v2/slurm/job/step/memory.current", "209715200\n"); /* above the limit */
    expect("0::/slurm/job/step\n", version_2, 0, 100);
    expect("0::/no/such/group\n", version_2, 1000, 2000);
    expect("nonsense\n", version_2, 1000, 2000);
    expect("0::/slurm\n", "nonsense\n", 1000, 2000);
}

static void test_version_1(void **state)
{
    (void)state;
    static const char mounts[] = "31 22 0:27 / @/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "32 22 0:28 / @/a\\040b rw - cgroup cgroup rw,memory\n";
    put("a b/user/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("a b/user/job/memory.usage_in_bytes", "104857600\n");
    put("a b/user/memory.limit_in_bytes", "524288000\n"); /* 500 MiB */
    put("a b/user/memory.usage_in_bytes", "209715200\n"); /* 200 MiB */
    put("a b/user/memory.stat", "inactive_file 209715200\ntotal_inactive_file 52428800\ntotal_active_file 52428800\n");
    put("cpu/user/job/memory.limit_in_bytes", "1\n");
    expect("5:cpu,cpuacct:/elsewhere\n4:memory:/user/job\n0::/\n", mounts, 400, 500);
    expect("5:cpu,cpuacct:/user/job\n4:hugetlb,memory:/user\n", mounts, 400, 500);
    expect("5:cpu,cpuacct:/user/job\n", mounts, 1000, 2000);
    expect("5:not_memory:/user/job\n", mounts, 1000, 2000);
}

/* The mount begins at the container's own group, of which the path has the name outside. */
static void test_container(void **state)
{
    (void)state;
    static const char mounts[] = "32 22 0:28 /docker/abc @/m rw - cgroup cgroup rw,memory\n";
    put("m/memory.limit_in_bytes", "104857600\n");
    put("m/memory.usage_in_bytes", "1048576\n");
    put("m/inner/memory.limit_in_bytes", "52428800\n");
    expect("4:memory:/docker/abc\n", mounts, 99, 100);
    expect("4:memory:/docker/abc/inner\n", mounts, 50, 50);
    expect("4:memory:/docker/abcd\n", mounts, 99, 100); /* another's: what is mounted counts */
}

static void test_both_versions(void **state)
{
    (void)state;
    static const char mounts[] = "30 22 0:26 / @/v2 rw - cgroup2 cgroup2 rw\n"
                                 "32 22 0:28 / @/v1 rw - cgroup cgroup rw,memory\n";
    put("v2/a/memory.max", "314572800\n");
    put("v1/b/memory.limit_in_bytes", "209715200\n");
    expect("4:memory:/b\n0::/a\n", mounts, 200, 200);
}

/* Quotas of processor time. */
static void test_cores_2(void **state)
{
    (void)state;
    put("v2/pod/box/cpu.max", "max 100000\n");
    expect_cores("0::/pod/box\n", version_2, INT_MAX);
    put("v2/pod/cpu.max", "400000 100000\n"); /* the quota is not the group's own */
    expect_cores("0::/pod/box\n", version_2, 4);
    put("v2/pod/box/cpu.max", "250000 100000\n"); /* two and a half: the third thread has half a core */
    expect_cores("0::/pod/box\n", version_2, 3);
    expect_cores("0::/pod\n", version_2, 4);
    put("v2/pod/box/cpu.max", "1000 100000\n");
    expect_cores("0::/pod/box\n", version_2, 1);
    static const char *const strange[] = {"", "\n", "200000\n", "200000 0\n", "nonsense 100000\n", "-1 100000\n"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        put("v2/pod/box/cpu.max", strange[i]);
        expect_cores("0::/pod/box\n", version_2, 4);
    }
    expect_cores("0::/other\n", version_2, INT_MAX);
    expect_cores("0::/pod\n", "nonsense\n", INT_MAX);
}

static void test_cores_1(void **state)
{
    (void)state;
    static const char mounts[] = "31 22 0:27 / @/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "32 22 0:28 / @/memory rw - cgroup cgroup rw,memory\n";
    put("cpu/job/cpu.cfs_quota_us", "-1\n");
    put("cpu/job/cpu.cfs_period_us", "100000\n");
    put("memory/job/cpu.cfs_quota_us", "1\n");
    put("memory/job/cpu.cfs_period_us", "100000\n");
    expect_cores("5:cpu,cpuacct:/job\n4:memory:/job\n", mounts, INT_MAX);
    put("cpu/job/cpu.cfs_quota_us", "150000\n");
    expect_cores("5:cpu,cpuacct:/job\n", mounts, 2);
    put("cpu/job/cpu.cfs_period_us", "50000\n");
    expect_cores("5:cpu,cpuacct:/job\n", mounts, 3);
    expect_cores("5:cpuacct:/job\n", mounts, INT_MAX);
    expect_cores("5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
                 "31 22 0:27 /docker/x @/cpu/job rw - cgroup cgroup rw,cpuacct,cpu\n", 3);
}

/* What the system says of this process. */
static void test_host(void **state)
{
    (void)state;
    vf_context *ctx;
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    const int quota = vf_cgroup_cores("/proc/self/cgroup", "/proc/self/mountinfo"), cores = vf_context_cores(ctx);
    assert_true(quota >= 1 && cores >= 1 && cores <= quota && vf_context_threads(ctx) <= cores);
    vf_context_destroy(ctx);
    uint64_t free_bytes = 0, total = 0;
    vf_host_memory(&free_bytes, &total);
    assert_true(free_bytes > 0 && free_bytes <= total);
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

TEST_MAIN(NULL, NULL, TEST(test_version_2), TEST(test_version_1), TEST(test_container), TEST(test_both_versions),
          TEST(test_cores_2), TEST(test_cores_1), cmocka_unit_test(test_host))
