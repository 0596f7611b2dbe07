// Measures the Go binding. Started by `cargo xtask bench` with a plan as its one argument; prints rows.
// Times are in milliseconds; the peers in the plan come from the Rust program of the same run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a3s-lab/code/bindings-go"
	"github.com/a3s-lab/code/bindings-go/internal/debug"
)

const (
	inFlight = 64
	samples  = 20_000
)

// nativeLibrary is the digest of the library, set by the linker so that a new library is linked again.
var nativeLibrary string

type plan struct {
	Quick    bool    `json:"quick"`
	Corpus   string  `json:"corpus"`
	Noop     float64 `json:"noop"`
	Wait     float64 `json:"wait"`
	PingPong float64 `json:"pingPong"`
}

func (p plan) effort() time.Duration {
	if p.Quick {
		return 500 * time.Millisecond
	}
	return 2500 * time.Millisecond
}

type row struct {
	ID     string   `json:"id"`
	Case   string   `json:"case"`
	Value  float64  `json:"value"`
	Unit   string   `json:"unit"`
	Floor  *float64 `json:"floor"`
	Target *float64 `json:"target"`
	Met    bool     `json:"met"`
}

// atMost prints a row that is met while its value does not exceed the target. A floor of 0 is none.
func atMost(id, name string, value, floor, target float64) error {
	r := row{ID: id, Case: name, Value: value, Unit: "ms", Target: &target, Met: value <= target}
	if floor != 0 {
		r.Floor = &floor
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(effort time.Duration, work func() error) (float64, error) {
	for end := time.Now().Add(effort / 5); time.Now().Before(end); {
		if err := work(); err != nil {
			return 0, err
		}
	}
	var taken []time.Duration
	for end := time.Now().Add(effort); len(taken) < 11 || len(taken) < samples && time.Now().Before(end); {
		start := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		taken = append(taken, time.Since(start))
	}
	slices.Sort(taken)
	return milliseconds(taken[len(taken)/2]), nil
}

// call calls a tool. A failed result is a failure here, so that no refusal is taken for speed.
func call(ctx context.Context, session *code.Session, name string, args map[string]any) error {
	result, err := session.Tool(ctx, name, args)
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("%s: %s", name, result.Output)
	}
	return nil
}

// rate is the calls a second of many goroutines that each make one call after the other.
func rate(effort time.Duration, work func() error) (float64, error) {
	var calls atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, inFlight)
	start := time.Now()
	end := start.Add(2 * effort)
	for range inFlight {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				if err := work(); err != nil {
					failures <- err
					return
				}
				calls.Add(1)
			}
		}()
	}
	group.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
		return float64(calls.Load()) / time.Since(start).Seconds(), nil
	}
}

func measure(ctx context.Context, p plan) error {
	option, ok := debug.Option.(code.AgentOption)
	if !ok {
		return errors.New("the option for a debug runtime is missing")
	}
	agent, err := code.NewAgent(ctx, option)
	if err != nil {
		return err
	}
	defer agent.Close(ctx)
	session, err := agent.Session(ctx, p.Corpus, nil)
	if err != nil {
		return err
	}
	noop := func() error { return call(ctx, session, "debug_noop", nil) }
	value, err := median(p.effort(), noop)
	if err != nil {
		return err
	}
	if err := atMost("P2a", "no-op tool, go", value, p.Noop, p.Noop+0.012); err != nil {
		return err
	}
	args := map[string]any{"file_path": "waits.txt"}
	value, err = median(p.effort(), func() error { return call(ctx, session, "read", args) })
	if err != nil {
		return err
	}
	if err := atMost("P2b", "call that waits, go, over rust", value-p.Wait, p.PingPong, 4*p.PingPong); err != nil {
		return err
	}
	value, err = rate(p.effort(), noop)
	if err != nil {
		return err
	}
	least := 60_000.0
	r := row{ID: "P2c", Case: "64 calls in flight, go", Value: value, Unit: "calls/s", Target: &least, Met: value >= least}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// first prints how long the first agent and session of a process took.
func first(ctx context.Context, p plan) error {
	start := time.Now()
	agent, err := code.NewAgent(ctx)
	if err != nil {
		return err
	}
	if _, err := agent.Session(ctx, p.Corpus, nil); err != nil {
		return err
	}
	fmt.Println(milliseconds(time.Since(start)))
	return agent.Close(ctx)
}

func measureFirst(p plan) error {
	count := 31
	if p.Quick {
		count = 9
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var taken []float64
	for range count {
		out, err := exec.Command(program, os.Args[1], "first-session").Output()
		if err != nil {
			return err
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return err
		}
		taken = append(taken, value)
	}
	slices.Sort(taken)
	return atMost("P28", "first session, go", taken[count/2], 0, 5)
}

func run() error {
	if len(os.Args) < 2 {
		return errors.New("the plan is missing: start this by `cargo xtask bench`")
	}
	var p plan
	if err := json.Unmarshal([]byte(os.Args[1]), &p); err != nil {
		return err
	}
	ctx := context.Background()
	if len(os.Args) > 2 {
		return first(ctx, p)
	}
	if err := measure(ctx, p); err != nil {
		return err
	}
	return measureFirst(p)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
