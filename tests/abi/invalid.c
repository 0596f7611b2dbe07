/* Null pointers, garbage and closed handles give a status, and every out parameter is written. */
#include "check.h"

static a3s_bytes raw(const void *ptr, size_t len) {
    a3s_bytes out;
    out.ptr = (const uint8_t *)ptr;
    out.len = len;
    return out;
}

static void refused(a3s_status status, a3s_buf *error) {
    CHECK(status == A3S_INVALID_ARGUMENT);
    CHECK(contains(*error, "\"INVALID_ARGUMENT\""));
    a3s_buf_free(error);
    CHECK(error->ptr == NULL && error->len == 0);
}

static void null_and_garbage_when_opening(void) {
    a3s_handle handle = 99;
    a3s_buf error = dirty_buf();
    refused(a3s_runtime_open(nothing(), NULL, &error), &error);
    refused(a3s_runtime_open(raw(NULL, 5), &handle, &error), &error);
    CHECK(handle == 0);
    handle = 99;
    refused(a3s_runtime_open(raw("{", (size_t)-1), &handle, &error), &error);
    CHECK(handle == 0);
    refused(a3s_runtime_open(bytes("{\"threads\":"), &handle, &error), &error);
    refused(a3s_runtime_open(bytes("{\"threads\":0}"), &handle, &error), &error);
    refused(a3s_runtime_open(bytes("{\"no\":0}"), &handle, &error), &error);
    CHECK(a3s_runtime_open(bytes("["), &handle, NULL) == A3S_INVALID_ARGUMENT);

    handle = 99;
    error = dirty_buf();
    CHECK(a3s_mailbox_open(0, NULL, NULL, &handle, &error) < 0);
    CHECK(handle == 0 && contains(error, "\"HANDLE_CLOSED\""));
    a3s_buf_free(&error);
    refused(a3s_mailbox_open(UINT64_MAX, NULL, NULL, NULL, &error), &error);

    uint64_t op = 99;
    error = dirty_buf();
    CHECK(a3s_runtime_close(12345, 0, nothing(), &op, &error) < 0);
    CHECK(op == 0 && error.len != 0);
    a3s_buf_free(&error);
    refused(a3s_runtime_close(12345, 0, nothing(), NULL, &error), &error);
}

static void null_and_garbage_when_calling(a3s_handle runtime, a3s_handle mailbox) {
    a3s_message message = dirty_message();
    uint64_t op = 99;
    a3s_buf error = dirty_buf();
    a3s_bytes create = bytes("agent.create");

    refused(a3s_call(runtime, mailbox, create, nothing(), nothing(), NULL, &op, &error), &error);
    CHECK(op == 0);
    refused(a3s_call(runtime, mailbox, create, nothing(), nothing(), &message, NULL, &error), &error);
    CHECK(message.kind == A3S_MESSAGE_NONE && message.payload.ptr == NULL && message.data.ptr == NULL);
    CHECK(message.struct_size == sizeof message);

    /* A struct of another size is not touched. */
    message = dirty_message();
    message.struct_size = 8;
    refused(a3s_call(runtime, mailbox, create, nothing(), nothing(), &message, &op, &error), &error);
    CHECK(message.kind == 0x5a5a5a5a && message.struct_size == 8);

    static const char *const names[] = {"", "no.such", "session.tool\xff", "\xed\xa0\x80"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        message = dirty_message();
        refused(a3s_call(runtime, mailbox, bytes(names[at]), nothing(), nothing(), &message, &op, &error), &error);
    }
    static const char *const texts[] = {"{", "[]", "1", "{\"a\":1,\"a\":2}", "{\"value\":\"\\ud800\"}", "{\"value\":1e400}", "\xff", "{} {}"};
    for (size_t at = 0; at < sizeof texts / sizeof *texts; at++) {
        message = dirty_message();
        refused(a3s_call(runtime, mailbox, bytes("debug.echo"), bytes(texts[at]), nothing(), &message, &op, &error), &error);
    }
    message = dirty_message();
    refused(a3s_call(runtime, mailbox, raw(NULL, 1), nothing(), nothing(), &message, &op, &error), &error);
    refused(a3s_call(runtime, mailbox, create, raw(NULL, 1), nothing(), &message, &op, &error), &error);
    refused(a3s_call(runtime, mailbox, bytes("debug.echo"), nothing(), raw(NULL, 1), &message, &op, &error), &error);
    refused(a3s_call(runtime, mailbox, create, raw("", (size_t)1 << 40), nothing(), &message, &op, &error), &error);

    static const uint64_t handles[] = {0, 1u << 24, 12345, (uint64_t)1 << 53, UINT64_MAX};
    for (size_t at = 0; at < sizeof handles / sizeof *handles; at++) {
        message = dirty_message();
        error = dirty_buf();
        CHECK(a3s_call(handles[at], mailbox, bytes("session.toolNames"), nothing(), nothing(), &message, &op, &error) < 0);
        CHECK(op == 0 && error.len != 0);
        a3s_buf_free(&error);
        a3s_cancel(handles[at]);
        a3s_release(handles[at]);
        a3s_mailbox_close(handles[at]);
        CHECK(a3s_mailbox_next(handles[at], 0, &message) == A3S_CLOSED);
        CHECK(a3s_host_reply(handles[at], 1, nothing(), nothing()) == A3S_STALE);
        CHECK(a3s_host_progress(handles[at], nothing()) == A3S_STALE);
    }
    CHECK(a3s_host_reply(1, 1, raw(NULL, 3), nothing()) == A3S_INVALID_ARGUMENT);
    CHECK(a3s_host_progress(1, bytes("\xff")) == A3S_INVALID_ARGUMENT);
    CHECK(a3s_mailbox_next(mailbox, 0, NULL) == A3S_INVALID_ARGUMENT);
    message = dirty_message();
    CHECK(a3s_mailbox_next(mailbox, 0, &message) == A3S_TIMEOUT);
    CHECK(message.kind == A3S_MESSAGE_NONE && message.payload.ptr == NULL);
}

int main(void) {
    CHECK(a3s_build_info(NULL) == A3S_INVALID_ARGUMENT);
    CHECK(a3s_debug_counts(NULL) == A3S_INVALID_ARGUMENT);
    a3s_buf_free(NULL);
    a3s_buf empty;
    memset(&empty, 0, sizeof empty);
    a3s_buf_free(&empty);

    null_and_garbage_when_opening();
    a3s_handle runtime = open_runtime();
    a3s_handle mailbox = open_mailbox(runtime, NULL, NULL);
    null_and_garbage_when_calling(runtime, mailbox);
    close_runtime(runtime, mailbox);
    CHECK(count("buffers") == 0);
    CHECK(count("runtimes") == 0 && count("mailboxes") == 0 && count("operations") == 0);
    return 0;
}
