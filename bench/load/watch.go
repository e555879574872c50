package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	agentkeeper "tipstaff/bench/load/gen/agentkeeper/v1"
)

const (
	// sampleEvery picks the events that are timed, by sequence number: the same at each watcher.
	sampleEvery = 16
	// drainLimit is how long the last events may take once the callers have stopped.
	drainLimit = 10 * time.Second
)

type watchResult struct {
	Watchers            int     `json:"watchers"`
	Callers             int     `json:"callers"`
	Connections         int     `json:"connections"`
	Seconds             float64 `json:"seconds"`
	Cycles              int     `json:"cycles"`
	Deliveries          int64   `json:"deliveries"`
	EventsPerSecond     float64 `json:"eventsPerSecond"`
	DeliveriesPerSecond float64 `json:"deliveriesPerSecond"`
	DeliveryP50Ms       float64 `json:"deliveryP50Ms"`
	DeliveryP99Ms       float64 `json:"deliveryP99Ms"`
	DeliveryMaxMs       float64 `json:"deliveryMaxMs"`
	CycleP50Ms          float64 `json:"cycleP50Ms"`
	CycleP99Ms          float64 `json:"cycleP99Ms"`
	GeneratorCPUSeconds float64 `json:"generatorCpuSeconds"`
	ServerCPUSeconds    float64 `json:"serverCpuSeconds"`
}

func loadWatch(ctx context.Context, opts options) (*watchResult, error) {
	target, err := dialTipstaff(ctx, opts.addr, opts.connections)
	if err != nil {
		return nil, err
	}
	defer target.close()
	// All agents are registered before the first watch opens, and leave after the last has closed: in
	// between there are lease events only, and their sequence numbers have no gap.
	callers, err := joinTimed(ctx, target, opts.callers)
	if err != nil {
		return nil, err
	}
	watching, err := openWatchers(ctx, target, opts.watchers)
	if err != nil {
		return nil, err
	}
	defer watching.close()

	w := opts.window()
	running := startCallers(watching.ctx, asCallers(callers), w)
	var before, after int64
	cpu := cpuDuring(running.ctx, w, opts.serverPID,
		func() { before = watching.delivered() }, func() { after = watching.delivered() })
	cycles, err := running.wait()
	if err != nil {
		return nil, err
	}
	if err := watching.drain(callers); err != nil {
		return nil, err
	}
	watching.close()
	if err := leaveAll(ctx, asCallers(callers)); err != nil {
		return nil, err
	}

	delays, err := watching.delays(w, callers)
	if err != nil {
		return nil, err
	}
	delivery, cycle := summarise(delays), resultOf(opts, w, cycles, cpu)
	return &watchResult{
		Watchers: opts.watchers, Callers: opts.callers, Connections: opts.connections,
		Seconds: w.seconds(), Cycles: len(cycles), Deliveries: after - before,
		EventsPerSecond:     float64(after-before) / float64(opts.watchers) / w.seconds(),
		DeliveriesPerSecond: float64(after-before) / w.seconds(),
		DeliveryP50Ms:       delivery.p50Ms, DeliveryP99Ms: delivery.p99Ms, DeliveryMaxMs: delivery.maxMs,
		CycleP50Ms: cycle.CycleP50Ms, CycleP99Ms: cycle.CycleP99Ms,
		GeneratorCPUSeconds: cpu.generator, ServerCPUSeconds: cpu.server,
	}, nil
}

// timedCaller remembers when each call was sent. The token, which is in the event too, tells later
// which call an event came from.
type timedCaller struct {
	*tipstaffCaller
	sent []sentTimes
}

type sentTimes struct {
	token            uint64
	acquire, release time.Time
}

func joinTimed(ctx context.Context, target *tipstaffTarget, count int) ([]*timedCaller, error) {
	callers := make([]*timedCaller, count)
	for number := range callers {
		caller, err := target.register(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("caller %d cannot join: %w", number, err)
		}
		callers[number] = &timedCaller{tipstaffCaller: caller}
	}
	return callers, nil
}

func asCallers(timed []*timedCaller) []caller {
	callers := make([]caller, len(timed))
	for number, caller := range timed {
		callers[number] = caller
	}
	return callers
}

func (c *timedCaller) acquire(ctx context.Context) error {
	now := time.Now()
	if err := c.tipstaffCaller.acquire(ctx); err != nil {
		return err
	}
	c.sent = append(c.sent, sentTimes{token: c.token.GetValue(), acquire: now})
	return nil
}

func (c *timedCaller) release(ctx context.Context) error {
	c.sent[len(c.sent)-1].release = time.Now()
	return c.tipstaffCaller.release(ctx)
}

// watchersOpen are streams under way. Its context ends when one of them fails.
type watchersOpen struct {
	ctx      context.Context
	fail     context.CancelCauseFunc
	group    sync.WaitGroup
	watchers []*watcher
}

type watcher struct {
	delivered atomic.Int64
	samples   []sample
}

// A sample keeps the payload as it came, to be read after the run.
type sample struct {
	at      time.Time
	topic   string
	payload *anypb.Any
}

var errClosed = errors.New("the watchers are closed")

func openWatchers(ctx context.Context, target *tipstaffTarget, count int) (*watchersOpen, error) {
	ctx, fail := context.WithCancelCause(ctx)
	open := &watchersOpen{ctx: ctx, fail: fail}
	for number := range count {
		registry := agentkeeper.NewRegistryServiceClient(target.connection(number))
		stream, err := registry.Watch(ctx, &agentkeeper.WatchRequest{Topics: []string{"lease."}})
		if err == nil {
			// Headers received means that the subscription is active.
			_, err = stream.Header()
		}
		if err != nil {
			open.close()
			return nil, fmt.Errorf("watcher %d cannot open: %w", number, err)
		}
		watcher := &watcher{}
		open.watchers = append(open.watchers, watcher)
		open.group.Go(func() {
			if err := watcher.receive(stream); !errors.Is(context.Cause(ctx), errClosed) {
				fail(fmt.Errorf("watcher %d: %w", number, err))
			}
		})
	}
	return open, nil
}

// receive decodes each event as a client would and checks its place in the order. It returns when
// the stream ends, which is always an error.
func (w *watcher) receive(stream grpc.ServerStreamingClient[agentkeeper.Event]) error {
	var last uint64
	for {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		sequence := event.GetSequenceNumber()
		if last != 0 && sequence != last+1 {
			return fmt.Errorf("event %d came after event %d", sequence, last)
		}
		last = sequence
		w.delivered.Add(1)
		if sequence%sampleEvery == 0 {
			w.samples = append(w.samples, sample{time.Now(), event.GetTopic(), event.GetPayload()})
		}
	}
}

func (o *watchersOpen) delivered() int64 {
	var sum int64
	for _, watcher := range o.watchers {
		sum += watcher.delivered.Load()
	}
	return sum
}

// drain waits until each watcher has seen one event for each call: none lost, none twice.
func (o *watchersOpen) drain(callers []*timedCaller) error {
	var calls int64
	for _, caller := range callers {
		calls += 2 * int64(len(caller.sent))
	}
	deadline := time.Now().Add(drainLimit)
	for number, watcher := range o.watchers {
		for watcher.delivered.Load() < calls {
			if time.Now().After(deadline) {
				return fmt.Errorf("watcher %d has %d of %d events", number, watcher.delivered.Load(), calls)
			}
			if err := sleepUntil(o.ctx, time.Now().Add(time.Millisecond)); err != nil {
				return err
			}
		}
		if seen := watcher.delivered.Load(); seen > calls {
			return fmt.Errorf("watcher %d has %d events of %d calls", number, seen, calls)
		}
	}
	return nil
}

// delays are the times from sending a call to having its event decoded at a watcher.
func (o *watchersOpen) delays(w window, callers []*timedCaller) ([]time.Duration, error) {
	sent := map[uint64]sentTimes{}
	for _, caller := range callers {
		for _, times := range caller.sent {
			sent[times.token] = times
		}
	}
	var delays []time.Duration
	for _, watcher := range o.watchers {
		for _, sample := range watcher.samples {
			if !w.holds(sample.at) {
				continue
			}
			lease := &agentkeeper.Lease{}
			if err := sample.payload.UnmarshalTo(lease); err != nil {
				return nil, fmt.Errorf("payload of %s: %w", sample.topic, err)
			}
			times, known := sent[lease.GetToken().GetValue()]
			if !known {
				return nil, fmt.Errorf("%s with token %d, which no caller was given",
					sample.topic, lease.GetToken().GetValue())
			}
			switch sample.topic {
			case "lease.acquired":
				delays = append(delays, sample.at.Sub(times.acquire))
			case "lease.released":
				delays = append(delays, sample.at.Sub(times.release))
			default:
				return nil, fmt.Errorf("unexpected topic %s", sample.topic)
			}
		}
	}
	return delays, nil
}

// close may be called twice.
func (o *watchersOpen) close() {
	o.fail(errClosed)
	o.group.Wait()
}
