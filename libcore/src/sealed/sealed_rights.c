/* Takes a process's rights away: descriptors, limits of resources, and system calls. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "sealed_internal.h"

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum { SOCKET = 3, DESCRIPTOR = 4, FIRST_SPARE = 16 };

#if defined(__linux__) && defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__linux__) && defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCHITECTURE
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* The low half of argument 0 must be `value`; the kernel itself looks at no more of a descriptor. */
#define ALLOW_ON(number, value)                                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[0]),                                                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), RETURN(SECCOMP_RET_ALLOW),                                 \
        RETURN(SECCOMP_RET_ERRNO | EPERM)

/* Memory, time, its own end, and the two descriptors. All else fails with EPERM: there is no call to open a file, to
 * connect, to start a process, or to signal another one. */
static struct sock_filter filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCHITECTURE, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    ALLOW(SYS_read),
    ALLOW(SYS_pread64),
    ALLOW_ON(SYS_sendto, SOCKET), /* connected: an address is ignored */
    ALLOW_ON(SYS_pwrite64, DESCRIPTOR),
    ALLOW_ON(SYS_ftruncate, DESCRIPTOR),
    ALLOW_ON(SYS_fallocate, DESCRIPTOR),
    ALLOW_ON(SYS_sync_file_range, DESCRIPTOR),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mremap),
    ALLOW(SYS_madvise),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_brk),
    ALLOW(SYS_futex),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_clock_gettime),
    ALLOW(SYS_gettimeofday),
#ifdef SYS_time
    ALLOW(SYS_time),
#endif
    ALLOW(SYS_getpid),
    ALLOW(SYS_gettid),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_rt_sigreturn),
    ALLOW(SYS_sigaltstack),
    ALLOW(SYS_restart_syscall),
    ALLOW(SYS_sched_yield),
    ALLOW_ON(SYS_prlimit64, 0),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    RETURN(SECCOMP_RET_ERRNO | EPERM),
};

bool sealed_has_filter(void)
{
    /* Without a filter to install: EFAULT where the kernel would have taken one. */
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
}

static bool install_filter(void)
{
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool sealed_has_filter(void)
{
    return false;
}

static bool install_filter(void)
{
    return true;
}
#endif

/* ---- descriptors ---- */

static void close_from(int first)
{
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
        return;
#endif
    struct rlimit limit = {.rlim_cur = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    const int end = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
    for (int fd = first; fd < end; fd++)
        (void)close(fd);
}

/* Gives the two descriptors their numbers, and closes all others, standard streams included: what a failing library
 * prints would be a second message. */
static bool keep_two(int *socket, int *descriptor)
{
    const int a = fcntl(*socket, F_DUPFD, FIRST_SPARE), b = fcntl(*descriptor, F_DUPFD, FIRST_SPARE);
    if (a < 0 || b < 0 || dup2(a, SOCKET) < 0 || dup2(b, DESCRIPTOR) < 0)
        return false;
    close_from(DESCRIPTOR + 1);
    for (int fd = 0; fd < SOCKET; fd++)
        (void)close(fd);
    *socket = SOCKET;
    *descriptor = DESCRIPTOR;
    return true;
}

/* ---- limits ---- */

/* The size of this process's address space, in bytes; 0: unknown. A program with a GPU has many terabytes. */
static uint64_t address_space(void)
{
    char text[64] = "";
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void set_limit(int which, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)which, &limit) != 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || hard < limit.rlim_max)
        limit.rlim_max = hard;
    if (limit.rlim_cur == RLIM_INFINITY || soft < limit.rlim_cur)
        limit.rlim_cur = soft;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    (void)setrlimit((__rlimit_resource_t)which, &limit);
}

static void set_limits(const vf_sealed_work *work)
{
    const uint64_t now = address_space();
    set_limit(RLIMIT_CORE, 0, 0);
    set_limit(RLIMIT_CPU, (rlim_t)work->seconds, (rlim_t)work->seconds + 1);
    if (work->writes < 0)
        set_limit(RLIMIT_FSIZE, 0, 0);
    if (now > 0)
        set_limit(RLIMIT_AS, now + work->memory, now + work->most_memory);
}

static void set_signals(void)
{
    static const int left_to_parent[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGXFSZ};
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGSYS};
    sigset_t none;
    for (size_t i = 0; i < sizeof left_to_parent / sizeof *left_to_parent; i++)
        signal(left_to_parent[i], SIG_IGN);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int sealed_give_up_rights(const vf_sealed_work *work, int *socket)
{
    int descriptor = work->writes >= 0 ? work->writes : work->reads;
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* nobody traces it */
#endif
    set_signals();
    set_limits(work);
    if (!keep_two(socket, &descriptor))
        return -1;
    set_limit(RLIMIT_NOFILE, 0, 0);
    if (sealed_has_filter() && !install_filter())
        return -1;
    return descriptor;
}
