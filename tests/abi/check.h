/* What the programs of this folder share: a check that tells where it failed, and short forms of the calls.
 * They compile as C11 and as C++17. */
#ifndef A3S_TESTS_ABI_CHECK_H
#define A3S_TESTS_ABI_CHECK_H

#include "a3s_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static inline a3s_bytes bytes(const char *text) {
    a3s_bytes out;
    out.ptr = (const uint8_t *)text;
    out.len = strlen(text);
    return out;
}

static inline a3s_bytes nothing(void) {
    a3s_bytes out;
    out.ptr = NULL;
    out.len = 0;
    return out;
}

/* A place filled with garbage, to see that it is written. */
static inline a3s_buf dirty_buf(void) {
    a3s_buf out;
    out.ptr = (uint8_t *)(uintptr_t)0x5a5a;
    out.len = 0x5a5a;
    return out;
}

static inline a3s_message dirty_message(void) {
    a3s_message out;
    memset(&out, 0x5a, sizeof out);
    out.struct_size = sizeof out;
    return out;
}

static inline int contains(a3s_buf buf, const char *text) {
    size_t len = strlen(text);
    for (size_t at = 0; at + len <= buf.len; at++) {
        if (memcmp(buf.ptr + at, text, len) == 0) {
            return 1;
        }
    }
    return 0;
}

static inline void free_message(a3s_message *message) {
    a3s_buf_free(&message->payload);
    a3s_buf_free(&message->data);
}

/* The number behind a key of a flat JSON object. */
static inline uint64_t number(a3s_buf json, const char *key) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    size_t len = strlen(pattern);
    for (size_t at = 0; at + len < json.len; at++) {
        if (memcmp(json.ptr + at, pattern, len) == 0) {
            return strtoull((const char *)json.ptr + at + len, NULL, 10);
        }
    }
    fprintf(stderr, "no %s in %.*s\n", key, (int)json.len, (const char *)json.ptr);
    exit(1);
}

/* What is alive of one kind. */
static inline uint64_t count(const char *key) {
    a3s_buf counts = dirty_buf();
    CHECK(a3s_debug_counts(&counts) == A3S_OK);
    uint64_t value = number(counts, key);
    a3s_buf_free(&counts);
    return value;
}

/* Waits for the completion of an operation. */
static inline a3s_message completion(a3s_handle mailbox, uint64_t op) {
    for (;;) {
        a3s_message message = dirty_message();
        CHECK(a3s_mailbox_next(mailbox, 10000, &message) == A3S_OK);
        if (message.kind == A3S_MESSAGE_COMPLETION && message.id == op) {
            return message;
        }
        free_message(&message);
    }
}

/* Makes a call and waits for its end; it must succeed. */
static inline a3s_message call(a3s_handle target, a3s_handle mailbox, const char *method, const char *json) {
    a3s_message message = dirty_message();
    uint64_t op = 99;
    a3s_buf error = dirty_buf();
    a3s_status status = a3s_call(target, mailbox, bytes(method), bytes(json), nothing(), &message, &op, &error);
    if (status == A3S_PENDING) {
        CHECK(message.kind == A3S_MESSAGE_NONE && op != 0);
        message = completion(mailbox, op);
    } else if (status != A3S_OK) {
        fprintf(stderr, "%s: %.*s\n", method, (int)error.len, (const char *)error.ptr);
        exit(1);
    } else {
        CHECK(op == 0);
    }
    CHECK(error.ptr == NULL && error.len == 0);
    if (message.status != 0) {
        fprintf(stderr, "%s: %.*s\n", method, (int)message.payload.len, (const char *)message.payload.ptr);
        exit(1);
    }
    return message;
}

/* The handle that a call opened. */
static inline a3s_handle opened(a3s_message message) {
    a3s_handle handle = number(message.payload, "handle");
    free_message(&message);
    return handle;
}

/* A runtime that has the methods for tests. */
static inline a3s_handle open_runtime(void) {
    a3s_handle runtime = 99;
    a3s_buf error = dirty_buf();
    CHECK(a3s_runtime_open(bytes("{\"debug\":true}"), &runtime, &error) == A3S_OK);
    CHECK(runtime != 0 && error.ptr == NULL);
    return runtime;
}

static inline a3s_handle open_mailbox(a3s_handle runtime, a3s_notify notify, void *data) {
    a3s_handle mailbox = 99;
    a3s_buf error = dirty_buf();
    CHECK(a3s_mailbox_open(runtime, notify, data, &mailbox, &error) == A3S_OK);
    CHECK(mailbox != 0 && error.ptr == NULL);
    return mailbox;
}

/* Closes a runtime and its mailbox, and gives both back. */
static inline void close_runtime(a3s_handle runtime, a3s_handle mailbox) {
    uint64_t op = 0;
    a3s_buf error = dirty_buf();
    CHECK(a3s_runtime_close(runtime, mailbox, nothing(), &op, &error) == A3S_PENDING);
    a3s_message message = completion(mailbox, op);
    CHECK(message.status == 0);
    free_message(&message);
    a3s_mailbox_close(mailbox);
    a3s_mailbox_close(mailbox);
    a3s_release(mailbox);
    a3s_release(runtime);
    a3s_release(runtime);
}

#endif
