/* The child's side of a sealed process: it answers questions until the parent is gone. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sealed_internal.h"

enum { EXIT_NO_PARENT = 0, EXIT_NO_RIGHTS = 71 };

/* The parent died, and there is nobody to tell, or it cannot be told. */
static void write_or_end(int socket, const void *from, size_t bytes)
{
    ssize_t sent;
    do
        sent = send(socket, from, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent != (ssize_t)bytes)
        _exit(SEALED_EXIT_CANNOT_ANSWER);
}

static size_t read_or_end(int socket, void *to, size_t bytes)
{
    ssize_t got;
    do
        got = read(socket, to, bytes);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        _exit(EXIT_NO_PARENT);
    return (size_t)got;
}

static void wait_for_copies(vf_sealed *s, int most)
{
    char copied;
    for (; s->pending > most; s->pending--)
        (void)read_or_end(s->socket, &copied, 1);
}

void *vf_reply_room(vf_reply *reply, size_t bytes)
{
    if (bytes > reply->most - reply->used)
        return NULL;
    if (!reply->child)
        return reply->memory + reply->used;
    wait_for_copies(reply->child, SEALED_HALVES - 1);
    return bytes <= VF_SEALED_PIECE ? reply->child->window + (size_t)reply->child->next * VF_SEALED_PIECE : NULL;
}

void vf_reply_sent(vf_reply *reply, size_t bytes)
{
    vf_sealed *s = reply->child;
    const sealed_message piece = {.kind = SEALED_PIECE, .bytes = bytes};
    reply->used += bytes;
    if (!s || bytes == 0)
        return;
    s->next = (s->next + 1) % SEALED_HALVES;
    s->pending++;
    write_or_end(s->socket, &piece, SEALED_MESSAGE_HEAD);
}

bool vf_reply_put(vf_reply *reply, const void *data, size_t bytes)
{
    for (const char *from = data; bytes > 0;) {
        const size_t some = bytes < VF_SEALED_PIECE ? bytes : VF_SEALED_PIECE;
        void *to = vf_reply_room(reply, some);
        if (!to)
            return false;
        memcpy(to, from, some);
        vf_reply_sent(reply, some);
        from += some;
        bytes -= some;
    }
    return true;
}

static bool in_child;
static struct rlimit usual; /* of memory, to which each answer returns */

bool vf_sealed_more_memory(uint64_t bytes)
{
    struct rlimit limit;
    if (!in_child)
        return true;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    if (limit.rlim_cur == RLIM_INFINITY)
        return true;
    if (bytes > limit.rlim_max - limit.rlim_cur)
        return false;
    limit.rlim_cur += bytes;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static void answer_one(vf_sealed *s, void *state, const sealed_question *asked)
{
    sealed_message end = {.kind = SEALED_END};
    vf_reply reply = {.child = s, .most = (size_t)asked->most};
    vf_context_clear_error(s->inner);
    (void)setrlimit(RLIMIT_AS, &usual);
    end.status = (int32_t)asked->answer(state, asked->bytes, &reply);
    const char *text = end.status == VF_OK ? "" : vf_context_message(s->inner);
    const size_t length = strnlen(text, SEALED_TEXT - 1);
    memcpy(end.text, text, length);
    wait_for_copies(s, 0);
    write_or_end(s->socket, &end, SEALED_MESSAGE_HEAD + length + 1);
}

void sealed_serve(vf_sealed *s, const vf_sealed_work *work, int socket)
{
    static sealed_question asked;
    in_child = true;
    s->socket = socket;
    const int descriptor = sealed_give_up_rights(work, &s->socket);
    if (descriptor < 0)
        _exit(EXIT_NO_RIGHTS);
#ifdef MADV_POPULATE_WRITE
    (void)madvise(s->window, (size_t)SEALED_HALVES * VF_SEALED_PIECE, MADV_POPULATE_WRITE); /* fork left them out */
#endif
    if (getrlimit(RLIMIT_AS, &usual) != 0)
        _exit(EXIT_NO_RIGHTS);
    work->begin(work->state, s->inner, descriptor);
    for (;;) {
        (void)read_or_end(s->socket, &asked, sizeof asked);
        answer_one(s, work->state, &asked);
    }
}
