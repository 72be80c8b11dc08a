/* The parent's side of a sealed process. */
#include "sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sealed_internal.h"

enum { PATIENCE_MS = 100 }; /* between looks at whether the run was interrupted */

static bool forbidden;

bool vf_sealed_possible(void)
{
#ifdef __linux__
    return !forbidden;
#else
    return false;
#endif
}

void vf_sealed_forbid(bool forbid)
{
    forbidden = forbid;
}

const char *vf_sealed_text(void)
{
    if (!vf_sealed_possible())
        return "in this process, because this system has no processes without rights";
    return sealed_has_filter() ? "in a process of its own, without rights (resource limits, seccomp)"
                               : "in a process of its own, with resource limits; this system has no seccomp";
}

/* ---- the end of the child ---- */

/* Ends the child if it has not ended, and waits for it. Returns its status as waitpid gives it. */
static int reap(vf_sealed *s)
{
    int status = 0;
    siginfo_t about;
    if (s->process <= 0)
        return 0;
    if (waitid(P_PID, (id_t)s->process, &about, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) {
        s->process =
            0; /* the program waits for all children, or ignores SIGCHLD; another process may have the number now */
        return 0;
    }
    kill(s->process, SIGKILL); /* changes nothing if it is dead already */
    while (waitpid(s->process, &status, 0) < 0 && errno == EINTR)
        ;
    s->process = 0;
    return status;
}

static vf_status say_why(const vf_sealed *s)
{
    return s->ended == VF_ERR_INPUT ? vf_fail(s->ctx, s->ended, "%s: the file is damaged: %s", s->name, s->why)
                                    : vf_fail(s->ctx, s->ended, "%s: %s", s->name, s->why);
}

/* Ends the child, and says why there will be no more answers. */
static vf_status fail_for_good(vf_sealed *s, bool broke_rules)
{
    const int ended = reap(s);
    const int number = WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended);
    const bool silent = s->error || (WIFEXITED(ended) && number == SEALED_EXIT_CANNOT_ANSWER);
    s->broken = true;
    s->ended = silent ? VF_ERR_MEMORY : VF_ERR_INPUT;
    if (silent)
        snprintf(s->why, sizeof s->why, "cannot talk to the process that reads the file%s%s", s->error ? ": " : "",
                 s->error ? strerror(s->error) : "");
    else if (broke_rules)
        snprintf(s->why, sizeof s->why, "the process that read it gave senseless answers");
    else if (WIFSIGNALED(ended) && number == SIGXCPU)
        snprintf(s->why, sizeof s->why, "reading it took more than %lld s", (long long)s->seconds);
    else if (WIFSIGNALED(ended) && number == SIGKILL)
        snprintf(s->why, sizeof s->why, "the process that read it was killed, perhaps for want of memory");
    else
        snprintf(s->why, sizeof s->why, "the library for such files failed on it (%s %d)",
                 WIFSIGNALED(ended) ? "signal" : "status", number);
    return say_why(s);
}

void vf_sealed_stop(vf_sealed **sealed)
{
    vf_sealed *s = *sealed;
    *sealed = NULL;
    if (!s)
        return;
    if (s->socket >= 0)
        close(s->socket);
    (void)reap(s);
    if (s->window)
        munmap(s->window, (size_t)SEALED_HALVES * VF_SEALED_PIECE);
    vf_context_destroy(s->inner);
    free(s->ahead);
    free(s->name);
    free(s);
}

/* ---- the start ---- */

static vf_status start_process(vf_sealed *s, const vf_sealed_work *work)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return vf_fail(s->ctx, VF_ERR_MEMORY, "%s: cannot connect to a process that reads the file: %s", s->name,
                       strerror(errno));
    s->socket = pair[0];
    s->process = fork();
    if (s->process == 0)
        sealed_serve(s, work, pair[1]);
    const int error = errno;
    close(pair[1]);
    if (s->process > 0)
        return VF_OK;
    s->process = 0;
    return vf_fail(s->ctx, VF_ERR_MEMORY, "%s: cannot start a process that reads the file: %s; allow more processes",
                   s->name, strerror(error));
}

vf_status vf_sealed_start(vf_context *ctx, const vf_sealed_work *work, vf_sealed **out)
{
    *out = NULL;
    vf_sealed *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read the file", work->name);
    s->ctx = ctx;
    s->socket = -1;
    s->seconds = work->seconds;
    s->name = strdup(work->name);
    void *window =
        mmap(NULL, (size_t)SEALED_HALVES * VF_SEALED_PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s->window = window == MAP_FAILED ? NULL : window;
    vf_status status = VF_OK;
    if (!s->name || !s->window || vf_context_create(&s->inner) != VF_OK)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read the file", work->name);
    VF_TRY(status, start_process(s, work));
    if (status == VF_OK)
        *out = s;
    else
        vf_sealed_stop(&s);
    return status;
}

/* ---- questions ---- */

/* Receives a message. Returns its size; 0 if the child has ended, -1 if the run was interrupted. */
static ssize_t receive(vf_sealed *s, sealed_message *message)
{
    for (;;) {
        struct pollfd ready = {.fd = s->socket, .events = POLLIN};
        const int n = poll(&ready, 1, PATIENCE_MS);
        if (vf_cancelled(s->ctx))
            return -1;
        if (n <= 0)
            continue;
        const ssize_t bytes = recv(s->socket, message, sizeof *message, 0);
        if (bytes < 0 && errno == EINTR)
            continue;
        s->error = bytes < 0 && errno != ECONNRESET ? errno : 0;
        return bytes > 0 ? bytes : 0;
    }
}

static bool send_bytes(vf_sealed *s, const void *from, size_t bytes)
{
    ssize_t sent;
    do
        sent = send(s->socket, from, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    s->error = sent < 0 && errno != EPIPE && errno != ECONNRESET ? errno : 0;
    return sent == (ssize_t)bytes;
}

static bool may_fail_with(int32_t status)
{
    static const vf_status allowed[] = {VF_ERR_ARGUMENT, VF_ERR_INPUT, VF_ERR_OUTPUT, VF_ERR_MEMORY,
                                        VF_ERR_UNSUPPORTED};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (status == (int32_t)allowed[i])
            return true;
    return false;
}

/* Repeats the child's message, without control characters. */
static vf_status repeat_failure(const vf_sealed *s, sealed_message *message, size_t bytes)
{
    const size_t length = bytes - SEALED_MESSAGE_HEAD;
    message->text[length < SEALED_TEXT ? length : SEALED_TEXT - 1] = '\0';
    for (char *c = message->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return vf_fail(s->ctx, (vf_status)message->status, "%s", message->text);
}

static bool send_question(vf_sealed *s, const sealed_question *asked, size_t bytes)
{
    return send_bytes(s, asked, offsetof(sealed_question, bytes) + (bytes ? bytes : 1));
}

/* Receives the answer to the question that was sent. `most`: the room in `reply`. With neither `reply` nor `view`, it is
 * thrown away. */
static vf_status collect(vf_sealed *s, void *reply, size_t most, size_t *got, const void **view)
{
    sealed_message message;
    for (;;) {
        const ssize_t size = receive(s, &message);
        if (size < 0) {
            (void)reap(s);
            s->broken = true;
            s->ended = VF_ERR_CANCELLED;
            snprintf(s->why, sizeof s->why, "interrupted");
            return vf_fail(s->ctx, VF_ERR_CANCELLED, "interrupted");
        }
        if (size == 0)
            return fail_for_good(s, false);
        if (size < SEALED_MESSAGE_HEAD)
            return fail_for_good(s, true);
        if (message.kind == SEALED_END && message.status == VF_OK)
            return VF_OK;
        if (message.kind == SEALED_END && may_fail_with(message.status))
            return repeat_failure(s, &message, (size_t)size);
        if (message.kind != SEALED_PIECE || message.bytes > VF_SEALED_PIECE || message.bytes > most - *got ||
            (!reply && view && *got > 0))
            return fail_for_good(s, true);
        const char *piece = s->window + (size_t)s->next * VF_SEALED_PIECE;
        if (reply)
            memcpy((char *)reply + *got, piece, message.bytes);
        else if (view)
            *view = piece;
        s->next = (s->next + 1) % SEALED_HALVES;
        *got += message.bytes;
        if (!send_bytes(s, "", 1))
            return fail_for_good(s, false);
    }
}

static bool is_ahead(const vf_sealed *s, const sealed_question *asked, size_t bytes)
{
    return s->ahead && s->ahead_bytes == bytes && s->ahead->answer == asked->answer && s->ahead->most == asked->most &&
           memcmp(s->ahead->bytes, asked->bytes, bytes) == 0;
}

/* The answer to a question asked ahead that nobody wants any more. */
static vf_status forget_ahead(vf_sealed *s)
{
    size_t got = 0;
    const size_t most = (size_t)s->ahead->most;
    free(s->ahead);
    s->ahead = NULL;
    vf_status status = collect(s, NULL, most, &got, NULL);
    if (status != VF_OK && !s->broken) {
        vf_context_clear_error(s->ctx);
        status = VF_OK;
    }
    return status;
}

vf_status vf_sealed_ask(vf_sealed *s, vf_sealed_answer answer, const void *question, size_t bytes, void *reply,
                        size_t most, size_t *got, const void **view)
{
    sealed_question asked = {.answer = answer, .most = most};
    *got = 0;
    if (s->broken)
        return say_why(s);
    if (bytes > sizeof asked.bytes)
        return vf_fail(s->ctx, VF_ERR_ARGUMENT, "%s: a name is too long", s->name);
    if (bytes > 0)
        memcpy(asked.bytes, question, bytes);
    if (is_ahead(s, &asked, bytes)) {
        free(s->ahead);
        s->ahead = NULL;
        return collect(s, reply, most, got, view);
    }
    vf_status status = s->ahead ? forget_ahead(s) : VF_OK;
    if (status == VF_OK && !send_question(s, &asked, bytes))
        status = fail_for_good(s, false);
    return status == VF_OK ? collect(s, reply, most, got, view) : status;
}

void vf_sealed_ahead(vf_sealed *s, vf_sealed_answer answer, const void *question, size_t bytes, size_t most)
{
    if (s->broken || s->ahead || bytes > VF_SEALED_QUESTION || most > VF_SEALED_PIECE)
        return;
    sealed_question *asked = malloc(sizeof *asked);
    if (!asked)
        return;
    asked->answer = answer;
    asked->most = most;
    if (bytes > 0)
        memcpy(asked->bytes, question, bytes);
    else
        asked->bytes[0] = 0;
    if (send_question(s, asked, bytes)) {
        s->ahead = asked;
        s->ahead_bytes = bytes;
    } else {
        free(asked); /* the child is dead: the next question says so */
    }
}
