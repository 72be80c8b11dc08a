#include "program.h"

#include "batch.h"
#include "completion.h"
#include "job.h"
#include "list_devices.h"
#include "voxfield/ranks.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "voxfield/foreign.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/version.h"

static void print_log(void *user, vf_log_level level, const char *text)
{
    const program *p = user;
    if (p->rank > 0)
        return;
    if (isatty(2))
        fputs("\r\033[K", stderr); /* erases the progress line, which is drawn again below */
    if (level == VF_LOG_WARNING)
        fprintf(stderr, "%s: warning: %s\n", p->name, text);
    else if (!p->quiet)
        printf("%s\n", text);
}

/* If a standard stream is closed, the next file opened would get its number, and messages would go into that file. So
 * all are open, those that were not in the wrong direction: `-o /dev/stdout` then fails instead of writing nothing. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* gets the lowest free number: fd */
}

/* The stages allocate and free arrays of the same sizes again and again. The C library would give large ones back to the system each
 * time, and the next stage would wait for cleared pages. So the program keeps what it has had, which makes its peak a tenth larger. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, -1); /* never */
#endif
}

/* Notes that are lost, because the disk is full, for example, do not make files wrong; but a plan is all that a dry run
 * makes. Nobody may be reading, of course (`cionize ... | head`), or have closed the stream. */
static vf_status check_notes(vf_context *ctx, const program *p)
{
    int lost = fflush(stdout) != 0 ? errno : 0;
    if (lost == 0 && ferror(stdout)) { /* earlier; one more try tells why */
        clearerr(stdout);
        lost = putchar('\n') == EOF || fflush(stdout) != 0 ? errno : EIO;
    }
    if (lost == 0 || lost == EPIPE || lost == EBADF)
        return VF_OK;
    if (program_given(p, "dry-run"))
        return vf_fail(ctx, VF_ERR_OUTPUT, "standard output: %s", strerror(lost));
    vf_warn(ctx, "standard output: %s; messages are lost", strerror(lost));
    return VF_OK;
}

/* Runnable tasks of the whole machine, including this one; 0: unknown. */
static int running_tasks(void)
{
    char line[128] = ""; /* "0.20 0.18 0.12 1/80 11206" */
    FILE *f = fopen("/proc/loadavg", "re");
    const bool read = f && fgets(line, sizeof line, f);
    if (f)
        (void)fclose(f);
    const char *slash = read ? strchr(line, '/') : NULL;
    while (slash && slash > line && slash[-1] != ' ')
        slash--;
    return slash ? (int)strtol(slash, NULL, 10) : 0;
}

/* Idle OpenMP threads spin for milliseconds. That is fastest if each thread has a core to itself. If other programs
 * want the cores, spinning threads take them from the threads they wait for, and small problems run many times
 * slower. The OpenMP library reads its spin setting when it loads, so the program restarts itself once. */
static void spin_less_where_busy(vf_context *ctx, char **argv, bool shares)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME") ||
        (!shares && running_tasks() - 1 + vf_context_threads(ctx) <= cores))
        return;
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0 && setenv("KMP_BLOCKTIME", "0", 1) == 0)
        (void)execv("/proc/self/exe", argv); /* on failure, go on without the restart */
}

void program_print_error(const vf_context *ctx, program *p)
{
    if (p->rank == 0 && !p->has_ended)
        fprintf(stderr, "%s: error: %s\n", p->name, vf_context_message(ctx));
    p->has_ended = true;
}

bool program_given(const program *p, const char *option)
{
    return option_text(p->options, &p->given, option) != NULL;
}

/* ---- options that only ask ---- */

static bool can_end_with(const program *p, vf_status status)
{
    if (status == VF_ERR_INCOMPLETE)
        return p->incomplete;
    const vf_status *one = p->failures;
    while (one && *one != VF_OK && *one != status)
        one++;
    return !one || *one == status;
}

static void print_exit_status(const program *p)
{
    static const struct {
        vf_status status;
        const char *text;
    } known[] = {{VF_OK, "success"},
                 {VF_ERR_ARGUMENT, "invalid options"},
                 {VF_ERR_INPUT, "invalid input"},
                 {VF_ERR_OUTPUT, "output not written"},
                 {VF_ERR_MEMORY, "out of memory"},
                 {VF_ERR_DEVICE, "device error"},
                 {VF_ERR_DEVICE_MEMORY, "out of device memory"},
                 {VF_ERR_UNSUPPORTED, "not supported"},
                 {VF_ERR_INCOMPLETE, NULL},
                 {VF_ERR_INTERNAL, "internal error"},
                 {VF_ERR_CANCELLED, "interrupted"}};
    int column = printf("Exit status:");
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        const char *text = known[n].text ? known[n].text : p->incomplete;
        char one[64];
        if (!can_end_with(p, known[n].status))
            continue;
        const int length =
            snprintf(one, sizeof one, "%s%d %s", n ? ", " : " ", vf_status_exit_code(known[n].status), text);
        if (column + length < OPTION_HELP_WIDTH)
            column += printf("%s", one);
        else
            column = printf(",\n%s", one + 2) - 2; /* removes the comma and space */
    }
    putchar('\n');
}

static void print_help(const program *p)
{
    printf("%s - %s\n\n", p->name, p->about);
    for (int n = 0; p->synopsis[n]; n++)
        printf("%s %s %s\n", n ? "      " : "usage:", p->name, p->synopsis[n]);
    if (p->intro) {
        fputs("\n", stdout);
        option_print_wrapped(stdout, p->intro, 0, 0);
    }
    option_print_help(stdout, p->options);
    if (p->examples)
        printf("\nExamples\n%s\n", p->examples);
    fputs("\n", stdout);
    print_exit_status(p);
    printf("See the manual page %s(1) for details.\n", p->name);
}

static void print_version(const program *p)
{
    char about[VF_H5_ABOUT];
    printf("%s (Voxfield) %s\n", p->name, VF_VERSION);
    if (p->input) /* programs without input only write HDF5 */
        printf("%s\n", vf_h5_about(about));
}

static vf_status print_form(vf_context *ctx, const program *p)
{
    const completion c = {p->name, p->options, p->input, p->endings};
    const vf_status status = option_check_table(ctx, p->options);
    if (status == VF_OK && p->given.form == OPTION_FORM_MANUAL)
        option_print_manual(stdout, p->options);
    else if (status == VF_OK && p->given.form == OPTION_FORM_BASH)
        completion_print_bash(stdout, &c);
    else if (status == VF_OK)
        completion_print_zsh(stdout, &c);
    return status;
}

/* Prints help, the option list of the manual page, completion for a shell, the version, or the devices. A reader may have seen enough (`--help | head`). */
static vf_status print_asked(vf_context *ctx, const program *p)
{
    vf_status status = VF_OK;
    errno = 0;
    if (p->given.asked == OPTION_VERSION)
        print_version(p);
    else if (p->given.asked == OPTION_DEVICES)
        list_devices(ctx, stdout);
    else if (p->given.form == OPTION_FORM_TEXT)
        print_help(p);
    else
        status = print_form(ctx, p);
    const bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (status == VF_OK && lost && errno != EPIPE)
        status = vf_fail(ctx, VF_ERR_OUTPUT, "standard output: %s", strerror(errno));
    return status;
}

/* ---- libraries that end the program ---- */

static const char *ending; /* the name of a program that has not ended yet */
static pid_t process;      /* children end as they do */

/* Says that a library has ended the program, and ends it. Async-signal-safe. Several threads may fail at once: one says
 * so, and ends all. */
static void end_for(const char *library)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    const char *const pieces[] = {ending, ": error: ", library,
                                  " ended the program, most likely for lack of memory or threads; use fewer --threads, "
                                  "or raise the limits (ulimit -v, -u)\n"};
    char text[256];
    size_t length = 0;
    while (atomic_flag_test_and_set(&said))
        (void)pause();
    for (size_t n = 0; n < sizeof pieces / sizeof *pieces; n++)
        for (const char *c = pieces[n]; *c && length < sizeof text; c++)
            text[length++] = *c;
    const ssize_t said_all = write(2, text, length);
    (void)said_all; /* if nobody hears it, the status tells */
    _exit(vf_status_exit_code(VF_ERR_MEMORY));
}

/* OpenMP calls exit() if it gets no memory or no thread. Each of several threads that do takes one function from the
 * list; if it found none, it would end the process with OpenMP's status before the first has spoken. */
enum { MOST_EXITS = 32 };
static void on_exit_of_library(void)
{
    if (ending && getpid() == process)
        end_for("OpenMP");
}

/* Otherwise the signal has its usual effect when this returns, which repeats the fault, or goes on in abort(). */
static void on_crash(int number)
{
    const char *library = vf_foreign();
    if (library && getpid() == process)
        end_for(library);
    signal(number, SIG_DFL);
}

/* Sanitizers have handlers of their own, which say more. */
static void expect_crashes(const char *name)
{
    void *caller;
    (void)backtrace(&caller, 1); /* loads libgcc_s: threads that end need it, and there may be no memory for it then */
    static const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    static char stack[1 << 16]; /* HDF5 without memory fills the usual one */
    const stack_t place = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK}, old;
    sigemptyset(&action.sa_mask);
    (void)sigaltstack(&place, NULL);
    process = getpid();
    ending = name;
    for (int n = 0; n < MOST_EXITS; n++)
        (void)atexit(on_exit_of_library);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (sigaction(numbers[n], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(numbers[n], &action, NULL);
}

/* ---- the run ---- */

static vf_status take_input(vf_context *ctx, const program *p)
{
    const option_values *given = &p->given;
    const int most = p->input ? 1 : 0;
    if (given->inputs > most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "'%s': unexpected argument; %s takes %s%s", given->input[most], p->name,
                       p->input ? "one " : "no input file", p->input ? p->input : "");
    if (most == 0)
        return VF_OK;
    if (given->inputs == 0 || given->input[0][0] == '\0')
        return vf_fail(ctx, VF_ERR_ARGUMENT, "no input file; usage: %s %s (%s --help lists the options)", p->name,
                       p->input_example, p->name);
    *(const char **)((char *)p->settings + p->input_at) = given->input[0];
    return VF_OK;
}

static vf_status read_and_run(vf_context *ctx, program *p)
{
    vf_status status = option_read(ctx, p->name, p->options, p->argc, p->argv, p->settings, &p->given);
    if (status != VF_OK)
        return status;
    if (p->given.asked != OPTION_END)
        return print_asked(ctx, p);
    p->quiet = program_given(p, "quiet") && !program_given(p, "info"); /* whose notes are all that it makes */
    const char *mpi = option_text(p->options, &p->given, "mpi");
    if (mpi && strcmp(mpi, "no") == 0) {
        p->rank = 0;
        p->launched = false;
    }
    if (batch_asked(p))
        return batch_run(ctx, p);
    if (program_given(p, "threads") && vf_context_threads(ctx) > vf_context_cores(ctx))
        vf_warn(ctx, "--threads %d: this process may use %d core%s; more threads than cores are slower",
                vf_context_threads(ctx), vf_context_cores(ctx), vf_context_cores(ctx) > 1 ? "s" : "");
    status = take_input(ctx, p);
    if (status == VF_OK && p->endings)
        status = batch_name_outputs(ctx, p);
    if (status == VF_OK && program_given(p, "dry-run") && program_given(p, "report"))
        vf_note(ctx, "note: --dry-run writes no files; the report %s is not written",
                option_text(p->options, &p->given, "report"));
    return status == VF_OK ? p->run(ctx, p) : status;
}

static int end(int status)
{
    ending = NULL;
    return status;
}

int program_main(program *p, int argc, char **argv)
{
    vf_context *ctx = NULL;
    expect_crashes(p->name);
    vf_h5_for_program();
    keep_freed_memory();
    open_standard_streams();
    setvbuf(stdout, NULL, _IOLBF, 0); /* keeps stdout and stderr in order if both go to one file */
    vf_status status = vf_context_create(&ctx);
    if (status != VF_OK) {
        fprintf(stderr, "%s: error: %s\n", p->name, vf_status_text(status));
        return end(vf_status_exit_code(status));
    }
    vf_ranks_launch launch;
    if (vf_ranks_find(ctx, VF_RANKS_AUTO, &launch) != VF_OK)
        vf_context_clear_error(ctx); /* job_begin says it, if the program has inputs */
    p->rank = launch.rank;
    p->launched = launch.library != VF_RANKS_NO;
    spin_less_where_busy(ctx, argv, launch.library != VF_RANKS_NO);
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the file size limit is then an error, like a full disk */
    signal(SIGPIPE, SIG_IGN); /* the run goes on if nobody reads its messages */
    vf_context_set_log(ctx, print_log, p);
    vf_context_cancel_on_signals(ctx);
    p->argc = argc;
    p->argv = argv;
    status = read_and_run(ctx, p);
    VF_TRY(status, check_notes(ctx, p));
    const struct timespec pause = {.tv_sec = 1};
    if (status != VF_OK && p->rank > 0 && !p->in_job) { /* rank 0 may find the same, and end all when it has said so */
        (void)nanosleep(&pause, NULL);
        p->rank = job_is_told() ? 0 : p->rank;
    }
    if (status != VF_OK)
        program_print_error(ctx, p);
    if (status != VF_OK && p->launched && !p->in_job && job_is_told())
        job_give_up(vf_status_exit_code(status));
    option_values_free(&p->given);
    for (int n = 0; n < p->name_count; n++)
        free(p->names[n]);
    free(p->names);
    vf_context_cancel_on_signals(NULL);
    const vf_warm_up_state warm = vf_device_warm_up_state(ctx);
    /* If a GPU is still starting, end the process without waiting for the thread that starts it. */
    if (warm.begun && !warm.ended) {
        (void)fflush(NULL);
        _exit(vf_status_exit_code(status));
    }
    vf_context_destroy(ctx);
    return end(vf_status_exit_code(status));
}
