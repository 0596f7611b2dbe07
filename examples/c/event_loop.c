/* Serves a tool written in C from an event loop:  event_loop FOLDER
 *
 * The library only writes to an eventfd; the loop fetches what is there, without waiting, when poll says so.
 *
 * cc -I include examples/c/event_loop.c liba3s_code_capi.a -lm -lpthread -ldl -o event_loop
 */
#include "a3s_code.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static a3s_bytes bytes(const char *text) {
    return (a3s_bytes){(const uint8_t *)text, strlen(text)};
}

static void fail(const char *what, a3s_buf why) {
    fprintf(stderr, "%s: %.*s\n", what, (int)why.len, (const char *)why.ptr);
    exit(1);
}

/* Called from a thread of the library: signals, and nothing else. */
static void wake(void *data) {
    uint64_t one = 1;
    if (write(*(const int *)data, &one, sizeof one) < 0) {
        /* The counter is full: the loop is about to look anyway. */
    }
}

/* What the loop does with one message. */
static void handle(const a3s_message *message) {
    if (message->kind == A3S_MESSAGE_HOST_CALL) {
        a3s_host_reply(message->id, 1, (a3s_bytes){NULL, 0}, bytes("hello from a tool written in C\n"));
    } else if (message->kind == A3S_MESSAGE_COMPLETION && message->status != 0) {
        fail("call", message->payload);
    }
}

/* Runs the loop until the operation has ended. The caller frees the completion. The mailbox is emptied before
 * each wait: only then does the library signal again. */
static a3s_message run_until(int events, a3s_handle mailbox, uint64_t op) {
    for (;;) {
        a3s_message message = {.struct_size = sizeof message};
        while (a3s_mailbox_next(mailbox, 0, &message) == A3S_OK) {
            handle(&message);
            if (message.kind == A3S_MESSAGE_COMPLETION && message.id == op) {
                return message;
            }
            a3s_buf_free(&message.payload);
            a3s_buf_free(&message.data);
        }
        struct pollfd ready = {.fd = events, .events = POLLIN};
        uint64_t count;
        if (poll(&ready, 1, 10000) > 0 && read(events, &count, sizeof count) < 0) {
            perror("eventfd");
        }
    }
}

static a3s_message call(int events, a3s_handle target, a3s_handle mailbox, const char *method, const char *json) {
    a3s_message message = {.struct_size = sizeof message};
    uint64_t op;
    a3s_buf error;
    switch (a3s_call(target, mailbox, bytes(method), bytes(json), (a3s_bytes){NULL, 0}, &message, &op, &error)) {
    case A3S_OK:
        handle(&message);
        return message;
    case A3S_PENDING:
        return run_until(events, mailbox, op);
    default:
        fail(method, error);
        return message;
    }
}

static a3s_handle open_object(int events, a3s_handle target, a3s_handle mailbox, const char *method, const char *json) {
    a3s_message message = call(events, target, mailbox, method, json);
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)message.payload.len, (const char *)message.payload.ptr);
    a3s_buf_free(&message.payload);
    const char *handle = strstr(text, "\"handle\":");
    return handle ? strtoull(handle + strlen("\"handle\":"), NULL, 10) : 0;
}

int main(int argc, char **argv) {
    int events = eventfd(0, EFD_CLOEXEC);
    if (argc != 2 || events < 0) {
        fprintf(stderr, "usage: event_loop FOLDER\n");
        return 2;
    }
    a3s_handle runtime, mailbox;
    a3s_buf error;
    if (a3s_runtime_open((a3s_bytes){NULL, 0}, &runtime, &error) != A3S_OK
        || a3s_mailbox_open(runtime, wake, &events, &mailbox, &error) != A3S_OK) {
        fail("open", error);
    }
    a3s_handle agent = open_object(events, runtime, mailbox, "agent.create", "");
    char json[4096];
    snprintf(json, sizeof json,
        "{\"workspace\":\"%s\",\"options\":{\"tools\":[{\"name\":\"greet\",\"description\":\"Greets.\","
        "\"parameters\":{\"type\":\"object\"},\"hostRef\":1}]}}",
        argv[1]);
    a3s_handle session = open_object(events, agent, mailbox, "agent.session", json);

    a3s_message result = call(events, session, mailbox, "session.tool", "{\"name\":\"greet\",\"args\":{}}");
    printf("%.*s", (int)result.data.len, (const char *)result.data.ptr);
    a3s_buf_free(&result.payload);
    a3s_buf_free(&result.data);

    uint64_t op;
    if (a3s_runtime_close(runtime, mailbox, (a3s_bytes){NULL, 0}, &op, &error) != A3S_PENDING) {
        fail("close", error);
    }
    a3s_message closed = run_until(events, mailbox, op);
    a3s_buf_free(&closed.payload);
    a3s_mailbox_close(mailbox); /* from here on `wake` is not called, so the descriptor may be closed */
    close(events);
    a3s_release(session);
    a3s_release(agent);
    a3s_release(runtime);
    return 0;
}
