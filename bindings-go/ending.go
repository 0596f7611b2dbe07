package code

// Closing once, waiting for it as often as wanted.

import (
	"context"
	"sync"
	"sync/atomic"
)

// ending is the closing of something. It runs on while its caller has given up, and a failed attempt may
// be repeated.
type ending struct {
	mu      sync.Mutex
	attempt *attempt
	done    atomic.Bool
}

type attempt struct {
	ended chan struct{}
	err   error // set before ended is closed
}

func (e *ending) isDone() bool { return e.done.Load() }

// run closes, or waits for who does.
func (e *ending) run(ctx context.Context, closing func() error) error {
	if ctx == nil {
		return invalidArgument("ctx", "is nil")
	}
	if e.isDone() {
		return nil
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	e.mu.Lock()
	current := e.attempt
	if current == nil {
		current = &attempt{ended: make(chan struct{})}
		e.attempt = current
		go e.close(current, closing)
	}
	e.mu.Unlock()
	select {
	case <-current.ended:
		return current.err
	case <-ctx.Done():
		return contextError(ctx)
	}
}

func (e *ending) close(current *attempt, closing func() error) {
	current.err = closing()
	if current.err == nil {
		e.done.Store(true)
	} else {
		e.mu.Lock()
		e.attempt = nil
		e.mu.Unlock()
	}
	close(current.ended)
}
