#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "voxfield/version.h"

static void print_log(void *user, vf_log_level level, const char *text)
{
    const program *p = user;
    if (isatty(2))
        fputs("\r\033[K", stderr); /* a line of progress makes place, and is drawn again below */
    if (level == VF_LOG_WARNING)
        fprintf(stderr, "%s: warning: %s\n", p->name, text);
    else if (!p->quiet)
        printf("%s\n", text);
}

/* A program started with a standard stream closed would get its number for the map, and print into it. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY); /* gets the lowest free number, which is fd */
}

/* Tasks of the whole machine that run or want to, this one among them; 0: not known. */
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

/* Threads that wait for others spin, for milliseconds: best where each has a core to itself, but where other programs
 * want the cores too, those that spin keep them from the threads they wait for, and small problems take many times as
 * long. How long to spin is read by the OpenMP library when it is loaded, so the program starts itself anew, once. */
static void spin_less_where_busy(vf_context *ctx, char **argv)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME") ||
        running_tasks() - 1 + vf_context_threads(ctx) <= cores)
        return;
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0 && setenv("KMP_BLOCKTIME", "0", 1) == 0)
        (void)execv("/proc/self/exe", argv); /* if it cannot be, things go on as they are */
}

void program_print_and_exit(const program *p, bool help)
{
    if (help)
        fputs(p->usage, stdout);
    else
        printf("%s (Voxfield) %s\n", p->name, VF_VERSION);
    exit(fflush(stdout) == 0 && !ferror(stdout) ? 0 : vf_status_exit_code(VF_ERR_OUTPUT));
}

int program_main(program *p, int argc, char **argv)
{
    vf_context *ctx = NULL;
    open_standard_streams();
    setvbuf(stdout, NULL, _IOLBF, 0); /* in order with stderr where both go into one file */
    vf_status status = vf_context_create(&ctx);
    if (status != VF_OK) {
        fprintf(stderr, "%s: error: %s\n", p->name, vf_status_text(status));
        return vf_status_exit_code(status);
    }
    spin_less_where_busy(ctx, argv);
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit is an error like a full disk */
    signal(SIGPIPE, SIG_IGN); /* the result is worth finishing when nobody reads the messages */
    vf_context_set_log(ctx, print_log, p);
    vf_context_cancel_on_signals(ctx);
    char **arguments = calloc((size_t)argc + 1, sizeof *arguments); /* getopt reorders argv; the record must not */
    p->argc = argc;
    p->argv = arguments ? memcpy(arguments, argv, (size_t)argc * sizeof *arguments) : argv;
    status = p->run(ctx, p, argc, argv);
    free(arguments);
    if (status != VF_OK)
        fprintf(stderr, "%s: error: %s\n", p->name, vf_context_message(ctx));
    vf_context_cancel_on_signals(NULL);
    const vf_warm_up_state warm = vf_device_warm_up_state(ctx);
    /* Nobody needs a GPU any more that is still being started: the process ends under the thread that starts it. */
    if (warm.begun && !warm.ended) {
        (void)fflush(NULL);
        _exit(vf_status_exit_code(status));
    }
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
