package code

// One runtime, its mailbox, and the goroutine that fetches from it.
//
// A call is answered at once or becomes an operation. Its completion and the call's return race, so
// whoever comes first makes the operation's slot. A caller that stops waiting marks its slot: the pump
// then disposes of the completion. Nothing of a call is kept once both have happened.

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// pumpWait is how long the pump waits in the library before it looks again.
const pumpWait = 1000

// client is shared by an agent and all that it opens. It knows neither, so that they can be collected.
type client struct {
	runtime uint64
	mailbox uint64
	stopped chan struct{} // closed when the pump has ended

	mu        sync.Mutex
	slots     map[uint64]*slot
	hostCalls map[uint64]context.CancelCauseFunc
	closed    bool // no completion will arrive any more

	handlers handlers
}

// slot is where an operation's completion waits.
type slot struct {
	completion chan message  // of size 1; closed without a message when none will come
	discard    func(message) // set when nobody waits any more
}

// owner is something with a handle: an agent, a session or a running host call.
type owner interface {
	// native gives the client, the handle, and an error when it is closed.
	native() (*client, uint64, error)
}

func openClient(options []byte) (*client, error) {
	if err := nativeVersions(); err != nil {
		return nil, err
	}
	handle, err := nativeOpenRuntime(options)
	if err != nil {
		return nil, err
	}
	mailbox, err := nativeOpenMailbox(handle)
	if err != nil {
		nativeRelease(handle)
		return nil, err
	}
	c := &client{
		runtime:   handle,
		mailbox:   mailbox,
		stopped:   make(chan struct{}),
		slots:     map[uint64]*slot{},
		hostCalls: map[uint64]context.CancelCauseFunc{},
	}
	go c.pump()
	return c, nil
}

// pump fetches messages until the mailbox is closed. It runs nothing of the application.
func (c *client) pump() {
	defer close(c.stopped)
	for {
		m, status := nativeNext(c.mailbox, pumpWait)
		switch status {
		case nothingYet:
			continue
		case mailboxClosed:
			c.abandon()
			return
		}
		switch m.kind {
		case kindCompletion:
			c.complete(m)
		case kindHostCall:
			c.startHostCall(m)
		case kindHostCancel:
			c.cancelHostCall(m.id)
		}
	}
}

// complete hands a completion to whoever waits for it.
func (c *client) complete(m message) {
	c.mu.Lock()
	s := c.slot(m.id)
	discard := s.discard
	if discard != nil {
		delete(c.slots, m.id)
	} else {
		s.completion <- m
	}
	c.mu.Unlock()
	if discard != nil {
		discard(m)
	}
}

// slot gives the slot of an operation. The lock is held.
func (c *client) slot(op uint64) *slot {
	s := c.slots[op]
	if s == nil {
		s = &slot{completion: make(chan message, 1)}
		if c.closed {
			close(s.completion)
		}
		c.slots[op] = s
	}
	return s
}

// abandon tells everybody that nothing will arrive any more.
func (c *client) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, s := range c.slots {
		if len(s.completion) == 0 {
			close(s.completion)
		}
	}
	for _, cancel := range c.hostCalls {
		cancel(errClosed("the agent"))
	}
}

// do makes one call and waits for its end or for the end of the context. discard is told about a
// success that arrives when nobody waits for it; it may be nil and must not block.
func (c *client) do(
	ctx context.Context, target uint64, method string, arguments, data []byte, discard func(message),
) (message, error) {
	if ctx == nil {
		return message{}, invalidArgument("ctx", "is nil")
	}
	if ctx.Err() != nil {
		return message{}, contextError(ctx)
	}
	m, op, err := nativeCall(target, c.mailbox, method, arguments, data)
	if err != nil {
		return message{}, err
	}
	if op != 0 {
		if m, err = c.await(ctx, op, discard); err != nil {
			return message{}, err
		}
	}
	if ctx.Err() != nil {
		// The caller has given up: its reason counts, also when the answer came just now.
		dispose(m, discard)
		return message{}, contextError(ctx)
	}
	if m.failed {
		return message{}, decodeError(m.payload)
	}
	return m, nil
}

// await waits for the completion of an operation.
func (c *client) await(ctx context.Context, op uint64, discard func(message)) (message, error) {
	c.mu.Lock()
	s := c.slot(op)
	c.mu.Unlock()
	select {
	case m, ok := <-s.completion:
		c.mu.Lock()
		delete(c.slots, op)
		c.mu.Unlock()
		if !ok {
			return message{}, errClosed("the agent")
		}
		return m, nil
	case <-ctx.Done():
	}
	nativeCancel(op)
	c.ignore(op, func(m message) { dispose(m, discard) })
	return message{}, contextError(ctx)
}

// ignore leaves an operation to itself; discard is told about its completion.
func (c *client) ignore(op uint64, discard func(message)) {
	c.mu.Lock()
	s := c.slot(op)
	select {
	case m, ok := <-s.completion:
		delete(c.slots, op)
		c.mu.Unlock()
		if ok {
			discard(m)
		}
	default:
		s.discard = discard
		c.mu.Unlock()
	}
}

func dispose(m message, discard func(message)) {
	if discard != nil && !m.failed {
		discard(m)
	}
}

// shut closes the mailbox and gives the runtime back. It waits for the pump.
func (c *client) shut() {
	nativeCloseMailbox(c.mailbox)
	<-c.stopped
	nativeRelease(c.mailbox)
	nativeRelease(c.runtime)
}

// call makes a call on an owner, which stays alive until the call has returned.
func call(ctx context.Context, on owner, method string, arguments *arguments) (message, error) {
	encoded, err := arguments.encoded()
	if err != nil {
		return message{}, err
	}
	c, target, err := on.native()
	if err != nil {
		return message{}, err
	}
	m, err := c.do(ctx, target, method, encoded, arguments.data, nil)
	runtime.KeepAlive(on)
	if _, ok := on.(*Session); ok && errors.Is(err, ErrHandleClosed) {
		// The handle went while the call was on its way.
		return message{}, errSessionClosed()
	}
	return m, err
}
