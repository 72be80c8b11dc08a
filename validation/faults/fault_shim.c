/* Makes calls of a program fail, one at a time: preloaded (LD_PRELOAD), for tests.
 *
 * VOXFIELD_FAULT="KIND:N" fails call N of a kind, counted from main and from 1; "KIND:N+" that one and all after it.
 * VOXFIELD_FAULT_COUNTS=FILE gets a line "KIND CALLS" for each kind when the program ends. "no-unnamed:0" refuses files
 * without names, as some file systems do.
 *
 * Memory and threads are replaced functions. System calls are trapped by a filter (seccomp), because the C library's
 * own, those of its streams among them, go through no function that can be replaced. The program gets a signal for
 * each, whose handler counts it, and makes the call at the only address that the filter lets pass. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "voxfield/append.h"

typedef enum kind { MEMORY, THREAD, MAP, OPEN, READ, WRITE, SYNC, NAME, SEND, KINDS } kind;
static const char *const names[KINDS] = {"memory", "thread", "map", "open", "read", "write", "sync", "name", "send"};

static atomic_bool running; /* main has begun and not ended */
static atomic_long calls[KINDS];
static long failing[KINDS]; /* 0: none */
static bool from_then_on, no_unnamed;

static bool fails(kind k)
{
    if (!atomic_load(&running))
        return false;
    const long n = atomic_fetch_add(&calls[k], 1) + 1;
    return failing[k] > 0 && (n == failing[k] || (from_then_on && n > failing[k]));
}

/* ---- memory and threads ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static bool no_memory(void)
{
    const bool failed = fails(MEMORY);
    if (failed)
        errno = ENOMEM;
    return failed;
}

void *malloc(size_t size)
{
    return no_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return no_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return no_memory() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    return no_memory() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return no_memory() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = fails(MEMORY) ? NULL : __libc_memalign(alignment, size);
    if (!memory)
        return ENOMEM;
    *out = memory;
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return fails(THREAD) ? EAGAIN : next(thread, attributes, run, argument);
}

/* ---- system calls ---- */

/* syscall(), with the kernel's own result, and with a name for the address behind the instruction. */
extern long fault_call(long number, long a, long b, long c, long d, long e, long f);
extern const char fault_call_end[];

#if defined(__x86_64__)
__asm__(".text\n.globl fault_call\n.hidden fault_call\n.type fault_call,@function\nfault_call:\n"
        "movq %rdi,%rax\nmovq %rsi,%rdi\nmovq %rdx,%rsi\nmovq %rcx,%rdx\nmovq %r8,%r10\nmovq %r9,%r8\n"
        "movq 8(%rsp),%r9\nsyscall\n"
        ".globl fault_call_end\n.hidden fault_call_end\nfault_call_end:\nret\n.size fault_call,.-fault_call\n"
        ".section .note.GNU-stack,\"\",@progbits\n.text\n");
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define ARGUMENT(context, n)                                                                                           \
    ((const greg_t[]){(context)[REG_RDI], (context)[REG_RSI], (context)[REG_RDX], (context)[REG_R10],                  \
                      (context)[REG_R8], (context)[REG_R9]}[n])
#else
#error "only for x86-64"
#endif

static const struct {
    long number;
    kind of;
    int error;
} trapped[] = {{SYS_read, READ, EIO},       {SYS_pread64, READ, EIO},      {SYS_readv, READ, EIO},
               {SYS_write, WRITE, ENOSPC},  {SYS_pwrite64, WRITE, ENOSPC}, {SYS_writev, WRITE, ENOSPC},
               {SYS_fsync, SYNC, EIO},      {SYS_fdatasync, SYNC, EIO},    {SYS_rename, NAME, EIO},
               {SYS_renameat, NAME, EIO},   {SYS_renameat2, NAME, EIO},    {SYS_linkat, NAME, EIO},
               {SYS_mmap, MAP, ENOMEM},     {SYS_openat, OPEN, EMFILE},    {SYS_open, OPEN, EMFILE},
               {SYS_sendto, SEND, ENOBUFS}, {SYS_recvfrom, SEND, EIO}};
enum { TRAPPED = sizeof trapped / sizeof *trapped };

static void on_trap(int number, siginfo_t *info, void *user)
{
    greg_t *context = ((ucontext_t *)user)->uc_mcontext.gregs;
    const int kept = errno;
    const long call = info->si_syscall;
    long result = 0;
    (void)number;
    for (int i = 0; i < TRAPPED; i++)
        if (trapped[i].number == call) {
            const bool asked = call == SYS_openat && (ARGUMENT(context, 2) & O_TMPFILE) == O_TMPFILE;
            if (asked && no_unnamed && atomic_load(&running))
                result = -EOPNOTSUPP;
            else if (fails(trapped[i].of))
                result = -trapped[i].error;
        }
    if (result == 0)
        result = fault_call(call, (long)ARGUMENT(context, 0), (long)ARGUMENT(context, 1), (long)ARGUMENT(context, 2),
                            (long)ARGUMENT(context, 3), (long)ARGUMENT(context, 4), (long)ARGUMENT(context, 5));
    context[REG_RAX] = result;
    errno = kept;
}

/* cmocka takes the signal, too; the trap stays. */
__sighandler_t signal(int number, __sighandler_t handler)
{
    static __sighandler_t (*next)(int, __sighandler_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "signal");
    return number == SIGSYS ? SIG_DFL : next(number, handler);
}

static bool set_trap(void)
{
    const uint64_t passes = (uint64_t)(uintptr_t)fault_call_end;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sock_filter filter[TRAPPED + 10];
    int n = 0;
#define ADD(...) filter[n++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 0, TRAPPED + 1)); /* else: allowed */
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (int i = 0; i < TRAPPED; i++)
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped[i].number, (uint8_t)(TRAPPED - i), 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)passes, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(passes >> 32), 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
#undef ADD
    const struct sock_fprog program = {(unsigned short)n, filter};
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- around main ---- */

static void write_counts(void)
{
    static bool written;
    char text[64 * KINDS] = "";
    const char *path = getenv("VOXFIELD_FAULT_COUNTS");
    atomic_store(&running, false);
    if (!path || written)
        return;
    written = true;
    for (int k = 0; k < KINDS; k++)
        vf_append(text, sizeof text, "%s %ld\n", names[k], atomic_load(&calls[k]));
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        _Exit(99);
    close(fd);
}

void _exit(int status)
{
    write_counts();
    (void)fault_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

static void read_wish(void)
{
    const char *wish = getenv("VOXFIELD_FAULT");
    const char *colon = wish ? strchr(wish, ':') : NULL;
    no_unnamed = wish && strncmp(wish, "no-unnamed:", 11) == 0;
    for (int k = 0; colon && k < KINDS; k++)
        if (strncmp(wish, names[k], strlen(names[k])) == 0 && wish[strlen(names[k])] == ':')
            failing[k] = atol(colon + 1);
    from_then_on = wish && strchr(wish, '+');
}

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    read_wish();
    unsetenv("LD_PRELOAD"); /* programs that this one starts are not meant */
    if (!set_trap()) {
        (void)fputs("fault_shim: no seccomp\n", stderr);
        _Exit(77);
    }
    atomic_store(&running, true);
    const int status = real_main(argc, argv, environment);
    write_counts();
    return status;
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = program;
    return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
