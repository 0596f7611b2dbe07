/* Reads a file of a workspace with one thread that waits:  blocking FOLDER
 *
 * cc -I include examples/c/blocking.c liba3s_code_capi.a -lm -lpthread -ldl -o blocking
 */
#include "a3s_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static a3s_bytes bytes(const char *text) {
    return (a3s_bytes){(const uint8_t *)text, strlen(text)};
}

static void fail(const char *what, a3s_buf why) {
    fprintf(stderr, "%s: %.*s\n", what, (int)why.len, (const char *)why.ptr);
    exit(1);
}

/* Calls a method and waits for its end. The caller frees the message. */
static a3s_message call(a3s_handle target, a3s_handle mailbox, const char *method, const char *json) {
    a3s_message message = {.struct_size = sizeof message};
    uint64_t op;
    a3s_buf error;
    a3s_status status =
        a3s_call(target, mailbox, bytes(method), bytes(json), (a3s_bytes){NULL, 0}, &message, &op, &error);
    if (status < 0) {
        fail(method, error);
    }
    /* This program has one operation at a time, so the next completion is the one it waits for. */
    while (status == A3S_PENDING && message.kind != A3S_MESSAGE_COMPLETION) {
        a3s_mailbox_next(mailbox, 1000, &message);
    }
    if (message.status != 0) {
        fail(method, message.payload);
    }
    return message;
}

/* A real program reads the JSON with a library; "handle" is the only key needed here. */
static a3s_handle open_object(a3s_handle target, a3s_handle mailbox, const char *method, const char *json) {
    a3s_message message = call(target, mailbox, method, json);
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)message.payload.len, (const char *)message.payload.ptr);
    a3s_buf_free(&message.payload);
    a3s_buf_free(&message.data);
    const char *handle = strstr(text, "\"handle\":");
    return handle ? strtoull(handle + strlen("\"handle\":"), NULL, 10) : 0;
}

int main(int argc, char **argv) {
    if (argc != 2 || a3s_abi_version() != A3S_ABI_VERSION) {
        fprintf(stderr, "usage: blocking FOLDER, with the library of ABI version %d\n", A3S_ABI_VERSION);
        return 2;
    }
    a3s_handle runtime, mailbox;
    a3s_buf error;
    if (a3s_runtime_open((a3s_bytes){NULL, 0}, &runtime, &error) != A3S_OK
        || a3s_mailbox_open(runtime, NULL, NULL, &mailbox, &error) != A3S_OK) {
        fail("open", error);
    }
    a3s_handle agent = open_object(runtime, mailbox, "agent.create", "");
    char json[4096];
    snprintf(json, sizeof json, "{\"workspace\":\"%s\"}", argv[1]);
    a3s_handle session = open_object(agent, mailbox, "agent.session", json);

    a3s_message file = call(session, mailbox, "session.readFile", "{\"path\":\"hello.txt\"}");
    printf("%.*s", (int)file.data.len, (const char *)file.data.ptr);
    a3s_buf_free(&file.payload);
    a3s_buf_free(&file.data);

    uint64_t op;
    if (a3s_runtime_close(runtime, mailbox, (a3s_bytes){NULL, 0}, &op, &error) != A3S_PENDING) {
        fail("close", error);
    }
    a3s_message closed = {.struct_size = sizeof closed};
    while (a3s_mailbox_next(mailbox, 1000, &closed) != A3S_OK || closed.id != op) {
        a3s_buf_free(&closed.payload);
    }
    a3s_buf_free(&closed.payload);
    a3s_mailbox_close(mailbox);
    a3s_release(session);
    a3s_release(agent);
    a3s_release(runtime);
    return 0;
}
