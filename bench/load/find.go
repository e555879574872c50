package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	agentkeeper "tipstaff/bench/load/gen/agentkeeper/v1"
)

// fillers register at once while a registry is filled.
const fillers = 64

type card struct {
	Name         string                    `json:"name"`
	Description  string                    `json:"description"`
	Tools        []string                  `json:"tools"`
	Capabilities []*agentkeeper.Capability `json:"capabilities"`
}

type fillResult struct {
	Agents           int     `json:"agents"`
	AgentsPerSecond  float64 `json:"agentsPerSecond"`
	ServerCPUSeconds float64 `json:"serverCpuSeconds"`
}

// loadFill registers as many agents as asked for, with the cards of a file in turn.
func loadFill(ctx context.Context, opts options) (*fillResult, error) {
	cards, err := readJSON[card](opts.cards)
	if err != nil {
		return nil, err
	}
	target, err := dialTipstaff(ctx, opts.addr, opts.connections)
	if err != nil {
		return nil, err
	}
	defer target.close()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	began := time.Now()
	before := processCPU(opts.serverPID)
	var next atomic.Int64
	var group sync.WaitGroup
	for filler := range fillers {
		registry := agentkeeper.NewRegistryServiceClient(target.connection(filler))
		group.Go(func() {
			for number := int(next.Add(1)) - 1; number < opts.agents; number = int(next.Add(1)) - 1 {
				if err := fill(ctx, registry, cards[number%len(cards)], number); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	return &fillResult{
		Agents: opts.agents, AgentsPerSecond: float64(opts.agents) / took,
		ServerCPUSeconds: processCPU(opts.serverPID) - before,
	}, nil
}

func fill(ctx context.Context, registry agentkeeper.RegistryServiceClient, card card, number int) error {
	_, err := registry.Register(ctx, &agentkeeper.RegisterRequest{
		Card: &agentkeeper.AgentCard{
			Name: fmt.Sprintf("%s-%d", card.Name, number), Description: card.Description,
			Tools: card.Tools, Capabilities: card.Capabilities,
		},
		TtlSeconds: agentSeconds,
	})
	return err
}

type findResult struct {
	Finds               int     `json:"finds"`
	FindP50Ms           float64 `json:"findP50Ms"`
	FindP99Ms           float64 `json:"findP99Ms"`
	FindMaxMs           float64 `json:"findMaxMs"`
	Cycles              int     `json:"cycles"`
	CyclesPerSecond     float64 `json:"cyclesPerSecond"`
	CallP50Ms           float64 `json:"callP50Ms"`
	CallP99Ms           float64 `json:"callP99Ms"`
	CallMaxMs           float64 `json:"callMaxMs"`
	GeneratorCPUSeconds float64 `json:"generatorCpuSeconds"`
	ServerCPUSeconds    float64 `json:"serverCpuSeconds"`
}

// loadFind asks at a steady rate, whether or not the last answer came, while callers take leases.
func loadFind(ctx context.Context, opts options) (*findResult, error) {
	asked, err := readJSON[struct {
		Query string `json:"query"`
	}](opts.queries)
	if err != nil {
		return nil, err
	}
	target, err := dialTipstaff(ctx, opts.addr, opts.connections)
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
	var mutex sync.Mutex
	var finds []time.Duration
	find := func(number int, due time.Time) {
		registry := agentkeeper.NewRegistryServiceClient(target.connection(number))
		query := asked[number%len(asked)].Query
		reply, err := registry.Find(running.ctx, &agentkeeper.FindRequest{Query: query, Limit: 10})
		answered := time.Now()
		if err != nil || len(reply.GetAgents()) != 10 {
			running.fail(fmt.Errorf("find %q: %d agents: %w", query, len(reply.GetAgents()), err))
		} else if w.holds(answered) {
			mutex.Lock()
			defer mutex.Unlock()
			// From when it was due: a call that had to wait for its turn was late as well.
			finds = append(finds, answered.Sub(due))
		}
	}
	running.group.Go(func() { atRate(running.ctx, opts.rate, w.end, &running.group, find) })
	cpu := cpuDuring(running.ctx, w, opts.serverPID, func() {}, func() {})
	cycles, err := running.wait()
	if err != nil {
		return nil, err
	}
	if err := leaveAll(ctx, callers); err != nil {
		return nil, err
	}
	leases, spread := resultOf(opts, w, cycles, cpu), summarise(finds)
	return &findResult{
		Finds: len(finds), FindP50Ms: spread.p50Ms, FindP99Ms: spread.p99Ms, FindMaxMs: spread.maxMs,
		Cycles: leases.Cycles, CyclesPerSecond: leases.CyclesPerSecond,
		CallP50Ms: leases.CallP50Ms, CallP99Ms: leases.CallP99Ms, CallMaxMs: leases.CallMaxMs,
		GeneratorCPUSeconds: cpu.generator, ServerCPUSeconds: cpu.server,
	}, nil
}

// atRate starts `work` again and again until `end`, each time in a goroutine of its own.
func atRate(ctx context.Context, rate float64, end time.Time, group *sync.WaitGroup, work func(int, time.Time)) {
	if rate == 0 {
		return
	}
	ticker := time.NewTicker(seconds(1 / rate))
	defer ticker.Stop()
	for number := 0; ; number++ {
		select {
		case <-ctx.Done():
			return
		case due := <-ticker.C:
			if !due.Before(end) {
				return
			}
			group.Go(func() { work(number, due) })
		}
	}
}

func readJSON[Row any](path string) ([]Row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return rows, nil
}
