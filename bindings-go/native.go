package code

// The only file that speaks C. Every function copies what comes back and frees it at once, so that no
// pointer of the library lives longer than one call. There are no exported Go functions: the library
// never calls into Go. The small C functions below join the steps of one crossing.

/*
#cgo CFLAGS: -I${SRCDIR}
#cgo linux,amd64 LDFLAGS: ${SRCDIR}/lib/x86_64-unknown-linux-gnu/liba3s_code_capi.a -lm -lpthread -ldl
#cgo noescape a3s_go_call
#cgo nocallback a3s_go_call
#cgo noescape a3s_go_next
#cgo nocallback a3s_go_next
#cgo noescape a3s_go_open
#cgo nocallback a3s_go_open
#cgo noescape a3s_go_close
#cgo nocallback a3s_go_close
#cgo noescape a3s_go_reply
#cgo nocallback a3s_go_reply
#cgo noescape a3s_go_progress
#cgo nocallback a3s_go_progress
#cgo noescape a3s_go_free
#cgo nocallback a3s_go_free
#cgo nocallback a3s_cancel
#cgo nocallback a3s_release
#cgo nocallback a3s_mailbox_close

#include "a3s_code.h"

typedef struct a3s_go_answer {
	a3s_status status;
	uint64_t id;
	a3s_message message;
	a3s_buf error;
} a3s_go_answer;

static inline a3s_bytes a3s_go_bytes(const uint8_t *ptr, size_t len) {
	a3s_bytes bytes = {ptr, len};
	return bytes;
}

static inline void a3s_go_call(uint64_t target, uint64_t mailbox, const uint8_t *method, size_t method_len,
		const uint8_t *json, size_t json_len, const uint8_t *data, size_t data_len, a3s_go_answer *answer) {
	answer->message.struct_size = sizeof answer->message;
	answer->status = a3s_call(target, mailbox, a3s_go_bytes(method, method_len), a3s_go_bytes(json, json_len),
		a3s_go_bytes(data, data_len), &answer->message, &answer->id, &answer->error);
}

static inline void a3s_go_next(uint64_t mailbox, uint32_t timeout_ms, a3s_go_answer *answer) {
	answer->message.struct_size = sizeof answer->message;
	answer->status = a3s_mailbox_next(mailbox, timeout_ms, &answer->message);
}

static inline void a3s_go_open(uint64_t runtime, const uint8_t *json, size_t json_len, a3s_go_answer *answer) {
	if (runtime == 0) {
		answer->status = a3s_runtime_open(a3s_go_bytes(json, json_len), &answer->id, &answer->error);
	} else {
		answer->status = a3s_mailbox_open(runtime, NULL, NULL, &answer->id, &answer->error);
	}
}

static inline void a3s_go_close(uint64_t runtime, uint64_t mailbox, const uint8_t *json, size_t json_len,
		a3s_go_answer *answer) {
	answer->status = a3s_runtime_close(runtime, mailbox, a3s_go_bytes(json, json_len), &answer->id, &answer->error);
}

static inline a3s_status a3s_go_reply(uint64_t host_call, const uint8_t *json, size_t json_len,
		const uint8_t *data, size_t data_len) {
	return a3s_host_reply(host_call, 1, a3s_go_bytes(json, json_len), a3s_go_bytes(data, data_len));
}

static inline a3s_status a3s_go_progress(uint64_t host_call, const uint8_t *text, size_t text_len) {
	return a3s_host_progress(host_call, a3s_go_bytes(text, text_len));
}

static inline void a3s_go_free(a3s_go_answer *answer) {
	a3s_buf_free(&answer->message.payload);
	a3s_buf_free(&answer->message.data);
	a3s_buf_free(&answer->error);
}
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"sync"
	"unsafe"
)

// Kinds of messages.
const (
	kindCompletion = C.A3S_MESSAGE_COMPLETION
	kindHostCall   = C.A3S_MESSAGE_HOST_CALL
	kindHostCancel = C.A3S_MESSAGE_HOST_CANCEL
)

// message is what arrives from the library, copied.
type message struct {
	kind    int32
	failed  bool
	id      uint64
	owner   uint64
	payload []byte
	data    []byte
}

// arrival is how a wait for a message ended.
type arrival int

const (
	arrived arrival = iota
	nothingYet
	mailboxClosed
)

// nativeCall calls a method. Either the message is the answer and op is 0, or op is pending.
func nativeCall(target, mailbox uint64, method string, arguments, data []byte) (m message, op uint64, err error) {
	var answer C.a3s_go_answer
	C.a3s_go_call(C.uint64_t(target), C.uint64_t(mailbox), first(unsafe.StringData(method)), C.size_t(len(method)),
		first(unsafe.SliceData(arguments)), C.size_t(len(arguments)),
		first(unsafe.SliceData(data)), C.size_t(len(data)), &answer)
	switch answer.status {
	case C.A3S_OK:
		return taken(&answer), 0, nil
	case C.A3S_PENDING:
		return message{}, uint64(answer.id), nil
	default:
		return message{}, 0, takenError(&answer)
	}
}

// nativeNext waits for the next message of a mailbox.
func nativeNext(mailbox uint64, timeoutMS uint32) (message, arrival) {
	var answer C.a3s_go_answer
	C.a3s_go_next(C.uint64_t(mailbox), C.uint32_t(timeoutMS), &answer)
	switch answer.status {
	case C.A3S_OK:
		return taken(&answer), arrived
	case C.A3S_TIMEOUT:
		return message{}, nothingYet
	default:
		return message{}, mailboxClosed
	}
}

// nativeOpenRuntime opens a runtime.
func nativeOpenRuntime(options []byte) (uint64, error) {
	var answer C.a3s_go_answer
	C.a3s_go_open(0, first(unsafe.SliceData(options)), C.size_t(len(options)), &answer)
	if answer.status != C.A3S_OK {
		return 0, takenError(&answer)
	}
	return uint64(answer.id), nil
}

// nativeOpenMailbox opens a mailbox of a runtime.
func nativeOpenMailbox(runtime uint64) (uint64, error) {
	var answer C.a3s_go_answer
	C.a3s_go_open(C.uint64_t(runtime), nil, 0, &answer)
	if answer.status != C.A3S_OK {
		return 0, takenError(&answer)
	}
	return uint64(answer.id), nil
}

// nativeCloseRuntime begins to close a runtime.
func nativeCloseRuntime(runtime, mailbox uint64, options []byte) (uint64, error) {
	var answer C.a3s_go_answer
	C.a3s_go_close(C.uint64_t(runtime), C.uint64_t(mailbox), first(unsafe.SliceData(options)),
		C.size_t(len(options)), &answer)
	if answer.status != C.A3S_PENDING {
		return 0, takenError(&answer)
	}
	return uint64(answer.id), nil
}

// nativeReply answers a host call; false when the answer could not be read.
func nativeReply(hostCall uint64, reply, text []byte) bool {
	status := C.a3s_go_reply(C.uint64_t(hostCall), first(unsafe.SliceData(reply)), C.size_t(len(reply)),
		first(unsafe.SliceData(text)), C.size_t(len(text)))
	return status == C.A3S_OK || status == C.A3S_STALE
}

// nativeProgress reports output of a host call.
func nativeProgress(hostCall uint64, text string) {
	C.a3s_go_progress(C.uint64_t(hostCall), first(unsafe.StringData(text)), C.size_t(len(text)))
}

func nativeCancel(op uint64)            { C.a3s_cancel(C.uint64_t(op)) }
func nativeRelease(handle uint64)       { C.a3s_release(C.a3s_handle(handle)) }
func nativeCloseMailbox(mailbox uint64) { C.a3s_mailbox_close(C.a3s_handle(mailbox)) }

// nativeCounts gives what is alive in the library, by name.
func nativeCounts() map[string]int64 {
	var out C.a3s_buf
	C.a3s_debug_counts(&out)
	counts := map[string]int64{}
	_ = json.Unmarshal(copied(out), &counts)
	C.a3s_buf_free(&out)
	return counts
}

// nativeVersions compares the library with what this package was generated for, once.
var nativeVersions = sync.OnceValue(func() error {
	if have := uint32(C.a3s_abi_version()); have != C.A3S_ABI_VERSION {
		return mismatch("ABI version", fmt.Sprint(have), fmt.Sprint(uint32(C.A3S_ABI_VERSION)))
	}
	var out C.a3s_buf
	C.a3s_build_info(&out)
	var info struct {
		SchemaHash string `json:"schemaHash"`
	}
	_ = json.Unmarshal(copied(out), &info)
	C.a3s_buf_free(&out)
	if info.SchemaHash != schemaHash {
		return mismatch("contract", info.SchemaHash, schemaHash)
	}
	return nil
})

func mismatch(what, have, want string) error {
	return &Error{Code: CodeUnsupported, Message: fmt.Sprintf(
		"the library has %s %s and this package needs %s: install both from one release", what, have, want)}
}

// first is the pointer to the first byte, in C's type.
func first(pointer *byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(pointer)) }

// taken copies the message and frees its buffers.
func taken(answer *C.a3s_go_answer) message {
	m := message{
		kind:    int32(answer.message.kind),
		failed:  answer.message.status != 0,
		id:      uint64(answer.message.id),
		owner:   uint64(answer.message.owner),
		payload: copied(answer.message.payload),
		data:    copied(answer.message.data),
	}
	C.a3s_go_free(answer)
	return m
}

// takenError copies the error and frees its buffer.
func takenError(answer *C.a3s_go_answer) error {
	payload := copied(answer.error)
	C.a3s_go_free(answer)
	return decodeError(payload)
}

func copied(buf C.a3s_buf) []byte {
	if buf.len == 0 {
		return nil
	}
	return C.GoBytes(unsafe.Pointer(buf.ptr), C.int(buf.len))
}
