package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A caller takes one lease and gives it back, over and over. Both calls fail unless the server did
// exactly what was asked, so a cycle that is counted is a cycle that happened.
type caller interface {
	acquire(ctx context.Context) error
	release(ctx context.Context) error
	leave(ctx context.Context) error
}

// A target is a server that knows leases.
type target interface {
	join(ctx context.Context, number int) (caller, error)
	close() error
}

type leaseResult struct {
	Target              string  `json:"target"`
	Callers             int     `json:"callers"`
	Connections         int     `json:"connections"`
	Cycles              int     `json:"cycles"`
	Seconds             float64 `json:"seconds"`
	CyclesPerSecond     float64 `json:"cyclesPerSecond"`
	CycleP50Ms          float64 `json:"cycleP50Ms"`
	CycleP99Ms          float64 `json:"cycleP99Ms"`
	CycleMaxMs          float64 `json:"cycleMaxMs"`
	CallP50Ms           float64 `json:"callP50Ms"`
	CallP99Ms           float64 `json:"callP99Ms"`
	CallMaxMs           float64 `json:"callMaxMs"`
	GeneratorCPUSeconds float64 `json:"generatorCpuSeconds"`
	ServerCPUSeconds    float64 `json:"serverCpuSeconds"`
}

func loadLeases(ctx context.Context, opts options) (*leaseResult, error) {
	target, err := connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer target.close()
	callers, err := joinAll(ctx, target, opts.callers)
	if err != nil {
		return nil, err
	}

	w := opts.window()
	running := startCallers(ctx, callers, w)
	cpu := cpuDuring(running.ctx, w, opts.serverPID, func() {}, func() {})
	cycles, err := running.wait()
	if err != nil {
		return nil, err
	}
	if err := leaveAll(ctx, callers); err != nil {
		return nil, err
	}
	return resultOf(opts, w, cycles, cpu), nil
}

func connect(ctx context.Context, opts options) (target, error) {
	// A connection without a caller would only be idle.
	connections := min(opts.connections, opts.callers)
	switch opts.target {
	case "tipstaff":
		return dialTipstaff(ctx, opts.addr, connections)
	case "etcd":
		return dialEtcd(ctx, opts.addr, connections)
	}
	return nil, fmt.Errorf("no target %q: tipstaff or etcd", opts.target)
}

func joinAll(ctx context.Context, target target, count int) ([]caller, error) {
	callers := make([]caller, count)
	for number := range callers {
		caller, err := target.join(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("caller %d cannot join: %w", number, err)
		}
		callers[number] = caller
	}
	return callers, nil
}

func leaveAll(ctx context.Context, callers []caller) error {
	for number, caller := range callers {
		if err := caller.leave(ctx); err != nil {
			return fmt.Errorf("caller %d cannot leave: %w", number, err)
		}
	}
	return nil
}

// A cycle keeps the three times that matter: before acquire, between the two calls, after release.
type cycle struct {
	began, acquired, released time.Time
}

// callersRunning are closed loops under way. Its context ends when one of them fails.
type callersRunning struct {
	ctx    context.Context
	fail   context.CancelCauseFunc
	group  sync.WaitGroup
	cycles [][]cycle
}

func startCallers(ctx context.Context, callers []caller, w window) *callersRunning {
	ctx, fail := context.WithCancelCause(ctx)
	running := &callersRunning{ctx: ctx, fail: fail, cycles: make([][]cycle, len(callers))}
	for number, caller := range callers {
		running.group.Go(func() {
			cycles, err := repeat(ctx, caller, w)
			if err != nil {
				fail(fmt.Errorf("caller %d: %w", number, err))
			}
			running.cycles[number] = cycles
		})
	}
	return running
}

// wait gives the cycles that ended within the window, or the first failure.
func (r *callersRunning) wait() ([]cycle, error) {
	r.group.Wait()
	defer r.fail(nil)
	var all []cycle
	for _, cycles := range r.cycles {
		all = append(all, cycles...)
	}
	return all, context.Cause(r.ctx)
}

// repeat always ends with a whole cycle, so that nothing stays held.
func repeat(ctx context.Context, caller caller, w window) ([]cycle, error) {
	var cycles []cycle
	for began := time.Now(); began.Before(w.end); {
		if err := caller.acquire(ctx); err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		acquired := time.Now()
		if err := caller.release(ctx); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
		released := time.Now()
		if w.holds(released) {
			cycles = append(cycles, cycle{began, acquired, released})
		}
		began = released
	}
	return cycles, nil
}

func resultOf(opts options, w window, cycles []cycle, cpu cpuTimes) *leaseResult {
	whole := make([]time.Duration, 0, len(cycles))
	calls := make([]time.Duration, 0, 2*len(cycles))
	for _, c := range cycles {
		whole = append(whole, c.released.Sub(c.began))
		calls = append(calls, c.acquired.Sub(c.began), c.released.Sub(c.acquired))
	}
	cycle, call := summarise(whole), summarise(calls)
	return &leaseResult{
		Target: opts.target, Callers: opts.callers, Connections: min(opts.connections, opts.callers),
		Cycles: len(cycles), Seconds: w.seconds(), CyclesPerSecond: float64(len(cycles)) / w.seconds(),
		CycleP50Ms: cycle.p50Ms, CycleP99Ms: cycle.p99Ms, CycleMaxMs: cycle.maxMs,
		CallP50Ms: call.p50Ms, CallP99Ms: call.p99Ms, CallMaxMs: call.maxMs,
		GeneratorCPUSeconds: cpu.generator, ServerCPUSeconds: cpu.server,
	}
}
