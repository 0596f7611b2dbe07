/*
 * The C ABI of A3S Code, an embeddable runtime for coding agents.
 *
 * One generic call carries every method: integers for control, JSON for payloads, and raw bytes beside
 * the JSON for large text. docs/reference/methods.md lists the methods with their arguments.
 *
 * Rules that hold for every function:
 * - Any thread may call anything at any time.
 * - Nothing blocks, except a3s_mailbox_next and, for a bounded time, a3s_call on a method that is
 *   answered on the caller's thread.
 * - Every out parameter is written on every path. A pointer that must not be null and is, a handle that
 *   is 0 or unknown, and text that is not UTF-8 give an error, never undefined behaviour.
 * - a3s_bytes is borrowed and read only during the call. a3s_buf is owned by the receiver and freed by
 *   a3s_buf_free, and by nothing else. Freeing a zeroed a3s_buf does nothing.
 * - Handles, operation ids and host-call ids are below 2^53, never 0 and never reused in a process.
 * - The library installs no signal handler, and changes neither the working directory nor the environment.
 *   It writes nothing to standard output, and to standard error only the notice of a fault of its own,
 *   which the call reports as A3S_PANIC or the code PANIC. It must not be unloaded.
 * - After fork() the handles of the parent answer FORK_DETECTED in the child; open a new runtime there.
 *
 * An error out parameter receives JSON: {"code", "message", "retryable", "retryAfterMs"?, "details"?,
 * "cause"?}. It may be null when the reason does not matter. docs/reference/errors.md lists the codes.
 */

#ifndef A3S_CODE_H
#define A3S_CODE_H

/* Generated from core/capi by `cargo xtask gen`; do not edit. */

#include <stddef.h>
#include <stdint.h>

/**
 * Version of this ABI. A program compares it with a3s_abi_version() before it calls anything else.
 */
#define A3S_ABI_VERSION 1

/**
 * How a function ended. Negative values are failures.
 */
enum a3s_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Done. From a3s_call: the answer is in the message and no operation is left.
     */
    A3S_OK = 0,
    /**
     * The operation goes on; its completion will arrive in the mailbox under the id returned.
     */
    A3S_PENDING = 1,
    /**
     * Nothing arrived within the time limit.
     */
    A3S_TIMEOUT = 2,
    /**
     * The mailbox is closed and empty, or was never there.
     */
    A3S_CLOSED = 3,
    /**
     * The host call has ended already; the answer was dropped and nothing is wrong.
     */
    A3S_STALE = 4,
    /**
     * The call itself failed; the error out parameter says how.
     */
    A3S_ERROR = -1,
    /**
     * An argument is null, malformed or out of its bounds; the error out parameter says which.
     */
    A3S_INVALID_ARGUMENT = -2,
    /**
     * A fault inside the library; other objects go on working.
     */
    A3S_PANIC = -3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum a3s_status a3s_status;
#else
typedef int32_t a3s_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What a message is. Tolerate values that are not listed here.
 */
enum a3s_message_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * No message was written.
     */
    A3S_MESSAGE_NONE = 0,
    /**
     * The end of an operation: `id` is the operation. Exactly one arrives for each.
     */
    A3S_MESSAGE_COMPLETION = 1,
    /**
     * A tool of the application is called: `id` is the host call to answer, `owner` the session.
     */
    A3S_MESSAGE_HOST_CALL = 2,
    /**
     * The host call `id` is no longer needed: stop it. A late answer is A3S_STALE.
     */
    A3S_MESSAGE_HOST_CANCEL = 3,
    /**
     * Lines of the log, as JSON.
     */
    A3S_MESSAGE_LOG = 4,
    /**
     * The mailbox is closed.
     */
    A3S_MESSAGE_CLOSED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum a3s_message_kind a3s_message_kind;
#else
typedef int32_t a3s_message_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Owned bytes: the receiver frees them with a3s_buf_free. `ptr` is null when `len` is 0. The bytes are not
 * followed by a zero. This pair never grows.
 */
typedef struct a3s_buf {
    /**
     * First byte.
     */
    uint8_t *ptr;
    /**
     * Number of bytes.
     */
    size_t len;
} a3s_buf;

/**
 * Borrowed bytes: read during the call, never kept. A null `ptr` is allowed when `len` is 0. This pair
 * never grows.
 */
typedef struct a3s_bytes {
    /**
     * First byte.
     */
    const uint8_t *ptr;
    /**
     * Number of bytes.
     */
    size_t len;
} a3s_bytes;

/**
 * A runtime, mailbox, agent or session. 0 is never one.
 */
typedef uint64_t a3s_handle;

/**
 * Called when a mailbox has something to fetch, from a thread of the library, and not again until
 * a3s_mailbox_next has found the mailbox empty: fetch until A3S_TIMEOUT before waiting for the signal. It
 * may only signal: write to an eventfd or pipe, wake a loop, set a flag. It must not call into this library
 * and must not block. `data` is what was given to a3s_mailbox_open.
 */
typedef void (*a3s_notify)(void *data);

/**
 * One message. Set `struct_size` to sizeof(a3s_message) before passing it in; the library writes no field
 * that lies beyond it, and sets it to the size of the part it knows. The receiver frees both buffers.
 */
typedef struct a3s_message {
    /**
     * Size of this struct in bytes.
     */
    size_t struct_size;
    /**
     * One of a3s_message_kind.
     */
    int32_t kind;
    /**
     * Of a completion: 0 when it succeeded, 1 when `payload` is an error.
     */
    int32_t status;
    /**
     * Id of the operation or of the host call.
     */
    uint64_t id;
    /**
     * Handle that it is about, or 0.
     */
    a3s_handle owner;
    /**
     * JSON.
     */
    struct a3s_buf payload;
    /**
     * Raw bytes that belong to the JSON.
     */
    struct a3s_buf data;
} a3s_message;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Frees the bytes of a buffer and zeroes it, so that a second call does nothing.
 *
 * \param buf A buffer that this library filled, unchanged; may be null or zeroed.
 */
void a3s_buf_free(struct a3s_buf *buf);

/**
 * Version of the ABI that the library was built with.
 */
uint32_t a3s_abi_version(void);

/**
 * Describes the build.
 *
 * \param out Receives JSON: {"version", "abi", "target", "schemaHash"}.
 */
a3s_status a3s_build_info(struct a3s_buf *out);

/**
 * Counts what is alive, for tests and leak checks.
 *
 * \param out Receives JSON: {"runtimes", "mailboxes", "agents", "sessions", "operations",
 *            "hostCalls", "buffers"}. `buffers` does not count this answer.
 */
a3s_status a3s_debug_counts(struct a3s_buf *out);

/**
 * Opens a runtime. A process may hold several. Threads start with the first operation that waits.
 *
 * \param json Options, or nothing: {"threads": 1 to 64?}.
 * \param out  Receives the handle, 0 on failure. Close it with a3s_runtime_close, then release it.
 * \param err  Receives the error; may be null.
 */
a3s_status a3s_runtime_open(struct a3s_bytes json, a3s_handle *out, struct a3s_buf *err);

/**
 * Begins to close a runtime: its agents and sessions close, running operations end as cancelled. Returns
 * A3S_PENDING; the completion arrives in `mailbox`, which stays open for it.
 *
 * \param json   Options, or nothing: {"deadlineMs": integer?}, after which what still runs is abandoned.
 * \param op_out Receives the operation, 0 on failure.
 * \param err    Receives the error; may be null.
 */
a3s_status a3s_runtime_close(a3s_handle runtime,
                             a3s_handle mailbox,
                             struct a3s_bytes json,
                             uint64_t *op_out,
                             struct a3s_buf *err);

/**
 * Opens a mailbox of a runtime: one for each thread or event loop that fetches messages.
 *
 * \param notify Called when there is something to fetch; may be null, then a3s_mailbox_next waits.
 * \param data   Passed to `notify`. Must stay valid until a3s_mailbox_close has returned, after which
 *               `notify` is not called again.
 * \param out    Receives the handle, 0 on failure. Close it with a3s_mailbox_close.
 * \param err    Receives the error; may be null.
 */
a3s_status a3s_mailbox_open(a3s_handle runtime,
                            a3s_notify notify,
                            void *data,
                            a3s_handle *out,
                            struct a3s_buf *err);

/**
 * Fetches the next message, waiting for it. The only function that blocks. Several threads may wait in
 * one mailbox; each message goes to one of them.
 *
 * \param timeout_ms Longest wait in milliseconds; 0 does not wait.
 * \param msg_out    Receives the message, whose buffers the caller then frees.
 * \return A3S_OK, A3S_TIMEOUT, A3S_CLOSED, or A3S_INVALID_ARGUMENT when `msg_out` cannot be written.
 */
a3s_status a3s_mailbox_next(a3s_handle mailbox,
                            uint32_t timeout_ms,
                            struct a3s_message *msg_out);

/**
 * Closes a mailbox: operations that report to it are cancelled, and threads that wait in it return with
 * A3S_CLOSED. When it returns, `notify` of the mailbox is not running and will not be called again.
 * Closing again does nothing.
 */
void a3s_mailbox_close(a3s_handle mailbox);

/**
 * Calls a method.
 *
 * A3S_OK: the answer is in `msg_out`, a completion, and no operation is left. A3S_PENDING: `op_out` is the
 * operation, and exactly one completion with this id will arrive in `mailbox`, also after a3s_cancel. Any
 * other status: the call itself was wrong, and `err` says how. A completion whose `status` is 1 carries
 * an error of the same form as its payload.
 *
 * \param target  Handle that the method is called on: a runtime, agent or session, or a host-call id.
 * \param mailbox Where the completion goes, and calls of the application's tools that it causes. 0 is
 *                enough for methods that are immediate.
 * \param method  Name, such as "session.tool".
 * \param json    Object with the arguments by name, or nothing.
 * \param data    Raw bytes beside the JSON, for the methods that take them.
 * \param msg_out Receives the answer; the caller frees its buffers.
 * \param op_out  Receives the operation, 0 when there is none.
 * \param err     Receives the error; may be null.
 */
a3s_status a3s_call(a3s_handle target,
                    a3s_handle mailbox,
                    struct a3s_bytes method,
                    struct a3s_bytes json,
                    struct a3s_bytes data,
                    struct a3s_message *msg_out,
                    uint64_t *op_out,
                    struct a3s_buf *err);

/**
 * Asks for an operation to be cancelled. Its completion still arrives. An id that is unknown or whose
 * operation has ended does nothing, and neither does asking again.
 */
void a3s_cancel(uint64_t op);

/**
 * Gives a handle back. Operations that still use the object keep it until they end. A handle that is
 * unknown or was released already does nothing.
 */
void a3s_release(a3s_handle handle);

/**
 * Answers a host call. Never waits, and needs no mailbox.
 *
 * \param host_call `id` of the A3S_MESSAGE_HOST_CALL.
 * \param ok        1 for an answer of the tool, failed or not; 0 when `json` is plain text that says why the
 *                  tool could not be run.
 * \param json      {"success"?, "metadata"?, "errorKind"?}, or {"hostError": message} for what the tool
 *                  threw; nothing for a success without more.
 * \param data      The tool's text as UTF-8.
 * \return A3S_OK; A3S_STALE when the call has ended, which is harmless; A3S_INVALID_ARGUMENT when the
 *         answer could not be read, and then the call has failed with the reason.
 */
a3s_status a3s_host_reply(uint64_t host_call,
                          int32_t ok,
                          struct a3s_bytes json,
                          struct a3s_bytes data);

/**
 * Reports output of a host call before its end, or a sign of life.
 *
 * \param host_call `id` of the A3S_MESSAGE_HOST_CALL.
 * \param text      UTF-8; may be empty.
 * \return As a3s_host_reply.
 */
a3s_status a3s_host_progress(uint64_t host_call, struct a3s_bytes text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* A3S_CODE_H */
