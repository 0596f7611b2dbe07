/* A blocking program from opening to closing: read a file, serve a tool, survive a panic, cancel, and leave
 * nothing behind. The workspace is the first argument; it holds hello.txt with the line "hello". */
#include "check.h"

#include <poll.h>
#include <unistd.h>

static void notify(void *data) {
    CHECK(write(*(const int *)data, "!", 1) == 1);
}

static void reads_a_file(a3s_handle session, a3s_handle mailbox) {
    a3s_message message = call(session, mailbox, "session.readFile", "{\"path\":\"hello.txt\"}");
    CHECK(message.data.len == 6 && memcmp(message.data.ptr, "hello\n", 6) == 0);
    free_message(&message);

    message = call(session, 0, "session.toolNames", "");
    CHECK(contains(message.payload, "\"read\""));
    free_message(&message);
}

static void serves_a_tool(a3s_handle session, a3s_handle mailbox) {
    a3s_message message = call(session, mailbox, "session.registerTool",
        "{\"tool\":{\"name\":\"shout\",\"description\":\"Shouts.\",\"parameters\":{\"type\":\"object\"},\"hostRef\":7}}");
    free_message(&message);

    uint64_t op = 0;
    a3s_buf error = dirty_buf();
    message = dirty_message();
    CHECK(a3s_call(session, mailbox, bytes("session.tool"), bytes("{\"name\":\"shout\",\"args\":{\"say\":\"hi\"}}"), nothing(),
              &message, &op, &error)
        == A3S_PENDING);
    CHECK(a3s_mailbox_next(mailbox, 10000, &message) == A3S_OK);
    CHECK(message.kind == A3S_MESSAGE_HOST_CALL && message.owner == session);
    CHECK(number(message.payload, "hostRef") == 7 && contains(message.payload, "\"say\":\"hi\""));
    uint64_t host_call = message.id;
    free_message(&message);
    CHECK(a3s_host_progress(host_call, bytes("half way")) == A3S_OK);
    CHECK(a3s_host_reply(host_call, 1, bytes("{\"metadata\":{\"volume\":11}}"), bytes("HI")) == A3S_OK);
    CHECK(a3s_host_reply(host_call, 1, nothing(), bytes("again")) == A3S_STALE);

    message = completion(mailbox, op);
    CHECK(message.status == 0 && number(message.payload, "exitCode") == 0);
    CHECK(contains(message.payload, "\"volume\":11"));
    CHECK(message.data.len == 2 && memcmp(message.data.ptr, "HI", 2) == 0);
    free_message(&message);
}

static void cancels(a3s_handle session, a3s_handle mailbox) {
    uint64_t op = 0;
    a3s_buf error = dirty_buf();
    a3s_message message = dirty_message();
    CHECK(a3s_call(session, mailbox, bytes("session.tool"), bytes("{\"name\":\"debug_wait\",\"args\":{\"ms\":60000}}"), nothing(),
              &message, &op, &error)
        == A3S_PENDING);
    a3s_cancel(op);
    a3s_cancel(op);
    message = completion(mailbox, op);
    CHECK(message.status == 1 && contains(message.payload, "\"CANCELLED\""));
    free_message(&message);
    a3s_cancel(op);
    CHECK(a3s_mailbox_next(mailbox, 0, &message) == A3S_TIMEOUT);
}

static void survives_panics(a3s_handle runtime, a3s_handle mailbox) {
    uint64_t op = 0;
    a3s_buf error = dirty_buf();
    a3s_message message = dirty_message();
    CHECK(a3s_call(runtime, mailbox, bytes("debug.panic"), bytes("{\"place\":\"entry\"}"), nothing(), &message, &op, &error) == A3S_PANIC);
    CHECK(contains(error, "\"PANIC\"") && message.kind == A3S_MESSAGE_NONE && op == 0);
    a3s_buf_free(&error);
    for (int at = 0; at < 100; at++) {
        message = call(runtime, mailbox, "debug.echo", "{\"value\":[1,2,3]}");
        CHECK(contains(message.payload, "[1,2,3]"));
        free_message(&message);
    }
}

static void notifies(a3s_handle session, a3s_handle runtime) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    a3s_handle mailbox = open_mailbox(runtime, notify, &ends[1]);
    a3s_message message = call(session, mailbox, "session.tool", "{\"name\":\"debug_wait\",\"args\":{\"ms\":1}}");
    free_message(&message);
    /* The message may be fetched before the signal is given. */
    struct pollfd ready;
    ready.fd = ends[0];
    ready.events = POLLIN;
    CHECK(poll(&ready, 1, 10000) == 1);
    a3s_mailbox_close(mailbox);
    CHECK(a3s_mailbox_next(mailbox, 1000, &message) == A3S_CLOSED);
    /* `notify` is not called any more, so what it uses may go. */
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    uint64_t buffers = count("buffers");
    a3s_handle runtime = open_runtime();
    a3s_handle mailbox = open_mailbox(runtime, NULL, NULL);
    a3s_handle agent = opened(call(runtime, mailbox, "agent.create", ""));
    char json[4096];
    snprintf(json, sizeof json, "{\"workspace\":\"%s\"}", argv[1]);
    a3s_handle session = opened(call(agent, mailbox, "agent.session", json));
    CHECK(count("sessions") == 1 && count("agents") == 1);

    reads_a_file(session, mailbox);
    serves_a_tool(session, mailbox);
    cancels(session, mailbox);
    survives_panics(runtime, mailbox);
    notifies(session, runtime);

    a3s_message message = call(session, mailbox, "session.close", "");
    free_message(&message);
    message = call(agent, mailbox, "agent.close", "");
    free_message(&message);
    a3s_release(session);
    a3s_release(agent);
    close_runtime(runtime, mailbox);
    static const char *const kinds[] = {"runtimes", "mailboxes", "agents", "sessions", "operations", "hostCalls"};
    for (size_t at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        CHECK(count(kinds[at]) == 0);
    }
    CHECK(count("buffers") == buffers);
    return 0;
}
