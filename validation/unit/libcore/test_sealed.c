/* Processes without rights: what they cannot do, and what becomes of the parent when they fail or lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sealed/sealed.h"
#include "sealed/sealed_internal.h"

enum { SOCKET = 3, DESCRIPTOR = 4 };

static vf_context *ctx, *inner;
static vf_sealed *sealed;
static char file_path[256];
static int file;
static pid_t parent;

static void begin(void *state, vf_context *own, int descriptor)
{
    (void)state;
    inner = own;
    if (descriptor != DESCRIPTOR)
        _exit(1);
}

static void start(uint64_t memory, int64_t seconds)
{
    const vf_sealed_work work = {.name = "a.h5",
                                 .reads = file,
                                 .writes = -1,
                                 .memory = memory,
                                 .most_memory = memory + (64 << 20),
                                 .seconds = seconds,
                                 .begin = begin};
    assert_int_equal(vf_sealed_start(ctx, &work, &sealed), VF_OK);
}

static int set_up(void **state)
{
    (void)state;
    const char *folder = getenv("TMPDIR");
    parent = getpid();
    snprintf(file_path, sizeof file_path, "%.200s/sealed.XXXXXX", folder ? folder : "/tmp");
    file = mkstemp(file_path);
    if (!vf_sealed_possible())
        return 1;
    return file < 0 || write(file, "content", 7) != 7 || vf_context_create(&ctx) != VF_OK;
}

static int tear_down(void **state)
{
    (void)state;
    vf_sealed_stop(&sealed);
    vf_context_destroy(ctx);
    close(file);
    return unlink(file_path);
}

static vf_status ask(vf_sealed_answer answer, void *reply, size_t most, size_t *got)
{
    const void *view;
    vf_context_clear_error(ctx);
    return vf_sealed_ask(sealed, answer, "question", 9, reply, most, got, &view);
}

static void expect(vf_status status, vf_status expected, const char *words)
{
    if (status != expected || !strstr(vf_context_message(ctx), words))
        fail_msg("got %s, '%s', not %s, '%s'", vf_status_name(status), vf_context_message(ctx),
                 vf_status_name(expected), words);
}

/* ---- rights ---- */

enum { TRIED = 12 };

/* Tries what it may not. The reply is a byte for each attempt: 1 if it worked. */
static vf_status try_all(void *state, const void *question, vf_reply *reply)
{
    char worked[TRIED] = {0};
    int at = 0;
    (void)state, (void)question;
    worked[at++] = open("/etc/passwd", O_RDONLY) >= 0;
    worked[at++] = open(file_path, O_WRONLY) >= 0;
    worked[at++] = creat("/tmp/sealed_was_here", 0600) >= 0;
    worked[at++] = unlink(file_path) == 0;
    worked[at++] = write(DESCRIPTOR, "x", 1) > 0; /* the file to read: not even if it was opened to write */
    worked[at++] = write(1, "x", 1) > 0 || write(2, "x", 1) > 0;
    worked[at++] = socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    worked[at++] = fork() >= 0;
    worked[at++] = kill(parent, 0) == 0;
    worked[at++] = execl("/bin/true", "true", (char *)NULL) == 0;
    worked[at++] = dup(DESCRIPTOR) >= 0 || fcntl(DESCRIPTOR, F_DUPFD, 0) >= 0;
    worked[at++] = getppid() == parent;
    vf_reply_put(reply, worked, sizeof worked);
    return VF_OK;
}

static void rights(void **state)
{
    (void)state;
    char worked[TRIED];
    size_t got;
    if (!strstr(vf_sealed_text(), "seccomp)")) {
        print_message("SKIP: no seccomp\n");
        skip();
    }
    start(64 << 20, 10);
    expect(ask(try_all, worked, sizeof worked, &got), VF_OK, "");
    assert_int_equal(got, TRIED);
    for (int i = 0; i < TRIED; i++)
        if (worked[i])
            fail_msg("attempt %d worked", i);
    assert_int_not_equal(access("/tmp/sealed_was_here", F_OK), 0);
}

static vf_status read_file(void *state, const void *question, vf_reply *reply)
{
    char content[8] = "";
    (void)state;
    if (strcmp(question, "question") != 0 || pread(DESCRIPTOR, content, 7, 0) != 7)
        return vf_fail(inner, VF_ERR_INPUT, "a.h5: cannot\nread");
    vf_reply_put(reply, content, 7);
    return VF_OK;
}

static vf_status refuse(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    return vf_fail(inner, VF_ERR_INPUT, "a.h5: two\nlines \033[31m");
}

static void answers(void **state)
{
    (void)state;
    char content[8] = "";
    size_t got;
    start(64 << 20, 10);
    for (int i = 0; i < 3; i++) {
        expect(ask(read_file, content, sizeof content, &got), VF_OK, "");
        assert_true(got == 7 && memcmp(content, "content", 7) == 0);
        expect(ask(refuse, content, sizeof content, &got), VF_ERR_INPUT,
               "a.h5: two?lines ?[31m"); /* no control codes */
    }
}

/* ---- large answers ---- */

enum { LARGE = 5 * VF_SEALED_PIECE / 2 + 3 };

static unsigned char byte_at(size_t n)
{
    return (unsigned char)(n * 2654435761U >> 13);
}

static vf_status large(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question;
    unsigned char *bytes = malloc(LARGE);
    for (size_t n = 0; bytes && n < LARGE; n++)
        bytes[n] = byte_at(n);
    const bool put = bytes && vf_reply_put(reply, bytes, LARGE);
    free(bytes);
    return put ? VF_OK : vf_fail(inner, VF_ERR_INPUT, "a.h5: no room");
}

/* The address sanitizer keeps what was freed for a while. */
#ifdef __SANITIZE_ADDRESS__
enum { ENOUGH = 1 << 30 };
#else
enum { ENOUGH = 64 << 20 };
#endif

static void large_answers(void **state)
{
    (void)state;
    unsigned char *bytes = malloc(LARGE);
    size_t got;
    start(ENOUGH, 10);
    for (int i = 0; i < 20; i++) {
        memset(bytes, 0, LARGE);
        expect(ask(large, bytes, LARGE, &got), VF_OK, "");
        assert_int_equal(got, LARGE);
        for (size_t n = 0; n < LARGE; n++)
            if (bytes[n] != byte_at(n))
                fail_msg("byte %zu of answer %d", n, i);
        expect(ask(large, bytes, LARGE - 1, &got), VF_ERR_INPUT, "no room");
    }
    free(bytes);
}

/* ---- limits and deaths ---- */

static vf_status allocate(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question;
    const size_t bytes = (size_t)100 << 20;
    void *first = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool more = vf_sealed_more_memory((uint64_t)60 << 20), too_much = vf_sealed_more_memory((uint64_t)60 << 20);
    void *second = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char found[4] = {first != MAP_FAILED, more, too_much, second != MAP_FAILED};
    vf_reply_put(reply, found, sizeof found);
    return VF_OK;
}

static void memory(void **state)
{
    (void)state;
    char found[4];
    size_t got;
    start(64 << 20, 10);
    expect(ask(allocate, found, sizeof found, &got), VF_OK, "");
    assert_true(!found[0] && found[1] && !found[2] && found[3]);
}

static vf_status die(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    char *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)nothing = 1;
    return VF_OK;
}

static vf_status leave(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    _exit(5);
}

static vf_status loop(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    for (;;)
        __asm__ volatile("");
    return VF_OK;
}

/* The first failure counts, and is repeated. */
static void deaths(void **state)
{
    (void)state;
    const struct {
        vf_sealed_answer answer;
        const char *words;
    } cases[] = {{die, "a.h5: the file is damaged: the library for such files failed on it (signal 11)"},
                 {leave, "a.h5: the file is damaged: the library for such files failed on it (status 5)"},
                 {loop, "a.h5: the file is damaged: reading it took more than 1 s"}};
    char content[8];
    size_t got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(64 << 20, 1);
        expect(ask(read_file, content, sizeof content, &got), VF_OK, "");
        for (int again = 0; again < 2; again++)
            expect(ask(again ? read_file : cases[i].answer, content, sizeof content, &got), VF_ERR_INPUT,
                   cases[i].words);
        vf_sealed_stop(&sealed);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no process is left */
    }
}

/* ---- lies: what a process does that the file has taken over ---- */

static void say(const sealed_message *message, size_t bytes)
{
    if (send(SOCKET, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        _exit(1);
}

static vf_status too_large_a_piece(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_PIECE, .bytes = VF_SEALED_PIECE + 1}, SEALED_MESSAGE_HEAD);
    return VF_OK;
}

static vf_status more_than_asked(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_PIECE, .bytes = 9}, SEALED_MESSAGE_HEAD);
    return VF_OK;
}

static vf_status huge_piece(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_PIECE, .bytes = UINT64_MAX}, SEALED_MESSAGE_HEAD);
    return VF_OK;
}

static vf_status other_kind(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = 77}, SEALED_MESSAGE_HEAD);
    return VF_OK;
}

static vf_status other_status(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_END, .status = VF_ERR_CANCELLED}, SEALED_MESSAGE_HEAD);
    return VF_OK;
}

static vf_status half_a_message(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_END}, 3);
    return VF_OK;
}

static vf_status empty_message(void *state, const void *question, vf_reply *reply)
{
    (void)state, (void)question, (void)reply;
    say(&(sealed_message){.kind = SEALED_END}, 0);
    for (;;)
        sched_yield();
    return VF_OK;
}

static void lies(void **state)
{
    (void)state;
    const vf_sealed_answer cases[] = {too_large_a_piece, more_than_asked, huge_piece,   other_kind,
                                      other_status,      half_a_message,  empty_message};
    char content[8];
    size_t got;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(64 << 20, 10);
        expect(ask(cases[i], content, sizeof content, &got), VF_ERR_INPUT, "a.h5: the file is damaged: ");
        vf_sealed_stop(&sealed);
        assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
}

/* A message without an end is cut. */
static vf_status long_text(void *state, const void *question, vf_reply *reply)
{
    sealed_message message = {.kind = SEALED_END, .status = VF_ERR_INPUT};
    (void)state, (void)question, (void)reply;
    memset(message.text, 'a', sizeof message.text);
    say(&message, sizeof message);
    return VF_OK;
}

static void text_without_end(void **state)
{
    (void)state;
    char content[8];
    size_t got;
    start(64 << 20, 10);
    expect(ask(long_text, content, sizeof content, &got), VF_ERR_INPUT, "aaaa");
    assert_true(strlen(vf_context_message(ctx)) < SEALED_TEXT);
}

/* ---- the parent ---- */

static void *interrupt(void *user)
{
    usleep(100000);
    vf_context_cancel(user);
    return NULL;
}

static void interrupts(void **state)
{
    (void)state;
    char content[8];
    size_t got;
    pthread_t thread;
    start(64 << 20, 100);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, ctx), 0);
    expect(ask(loop, content, sizeof content, &got), VF_ERR_CANCELLED, "interrupted");
    pthread_join(thread, NULL);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* ---- questions asked ahead ---- */

static int asked; /* in the child: how many questions of echo it answered */

/* The reply: the question's number, and which answer this is. */
static vf_status echo(void *state, const void *question, vf_reply *reply)
{
    const int answer[2] = {*(const int *)question, ++asked};
    (void)state;
    if (answer[0] < 0)
        return vf_fail(inner, VF_ERR_INPUT, "a.h5: less than nothing");
    vf_reply_put(reply, answer, sizeof answer);
    return VF_OK;
}

static vf_status twice(void *state, const void *question, vf_reply *reply)
{
    const vf_status status = echo(state, question, reply);
    return status == VF_OK ? echo(state, question, reply) : status;
}

static void ahead(void **state)
{
    (void)state;
    const int *view = NULL;
    const void *any = NULL;
    size_t got;
    int answer[2];
    start(64 << 20, 10);
    for (int n = 0; n < 20; n++) {
        vf_status status = vf_sealed_ask(sealed, echo, &n, sizeof n, NULL, sizeof answer, &got, &any);
        expect(status, VF_OK, "");
        view = any;
        vf_sealed_ahead(sealed, echo, &(int){n + 1}, sizeof n, sizeof answer);
        vf_sealed_ahead(sealed, echo, &(int){n + 2}, sizeof n, sizeof answer); /* one at a time: nothing */
        usleep(1000);
        assert_true(got == sizeof answer && view[0] == n && view[1] == n + 1); /* still valid, and answered once */
    }
    /* Another question instead, after an answer and after a failure: what came ahead is forgotten. */
    for (int n = 20; n < 24; n += 2) {
        expect(vf_sealed_ask(sealed, echo, &(int){7}, sizeof n, answer, sizeof answer, &got, NULL), VF_OK, "");
        assert_true(got == sizeof answer && answer[0] == 7 && answer[1] == n + 2);
        vf_sealed_ahead(sealed, echo, &(int){-1}, sizeof n, sizeof answer);
    }
    vf_context_clear_error(ctx);
    expect(vf_sealed_ask(sealed, echo, &(int){8}, sizeof answer[0], answer, sizeof answer, &got, NULL), VF_OK, "");
    vf_sealed_ahead(sealed, twice, &(int){9}, sizeof answer[0], 2 * sizeof answer); /* two pieces, forgotten */
    expect(vf_sealed_ask(sealed, echo, &(int){-1}, sizeof answer[0], answer, sizeof answer, &got, NULL), VF_ERR_INPUT,
           "less than nothing");
    /* The child dies of it, or ends with it still to be answered. */
    vf_sealed_ahead(sealed, die, "", 1, 8);
    vf_context_clear_error(ctx);
    expect(vf_sealed_ask(sealed, echo, &(int){1}, sizeof answer[0], answer, sizeof answer, &got, NULL), VF_ERR_INPUT,
           "the file is damaged");
    vf_sealed_stop(&sealed);
    start(64 << 20, 10);
    vf_sealed_ahead(sealed, echo, &(int){1}, sizeof answer[0], sizeof answer);
}

/* Each of these tests has its own start. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    if (!vf_sealed_possible()) {
        printf("SKIP: no processes without rights on this system\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {TEST(rights),        TEST(answers),          TEST(ahead),
                                       TEST(large_answers), TEST(memory),           TEST(deaths),
                                       TEST(lies),          TEST(text_without_end), TEST(interrupts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
