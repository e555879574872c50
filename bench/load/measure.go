package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is the unit of /proc, which Linux has kept at 100 on all machines we know.
const ticksPerSecond = 100

// A window is the time in which things count. What ends before it is warm-up.
type window struct {
	start, end time.Time
}

func (w window) holds(at time.Time) bool {
	return !at.Before(w.start) && at.Before(w.end)
}

func (w window) seconds() float64 {
	return w.end.Sub(w.start).Seconds()
}

// cpuTimes are CPU seconds spent in the window, by this program and by the server. The first is
// what the load generator takes away from a server on the same cores.
type cpuTimes struct {
	generator, server float64
}

// cpuDuring waits for the window to pass and measures what it cost. The callbacks run at its edges.
// When the context ends it returns early; who ended it says why.
func cpuDuring(ctx context.Context, w window, serverPID int, atStart, atEnd func()) cpuTimes {
	if sleepUntil(ctx, w.start) != nil {
		return cpuTimes{}
	}
	atStart()
	before := readCPU(serverPID)
	if sleepUntil(ctx, w.end) != nil {
		return cpuTimes{}
	}
	atEnd()
	after := readCPU(serverPID)
	return cpuTimes{after.generator - before.generator, after.server - before.server}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func readCPU(serverPID int) cpuTimes {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // RUSAGE_SELF with a valid pointer cannot fail.
	}
	generator := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return cpuTimes{generator: generator.Seconds(), server: processCPU(serverPID)}
}

// processCPU is 0 for a process we cannot look at: no id given, or no /proc on this system.
func processCPU(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the program's name, in parentheses; it may hold spaces itself.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

type latencies struct {
	p50Ms, p99Ms, maxMs float64
}

// summarise sorts the durations it is given. A percentile is the smallest value that at least that
// share of all values does not exceed.
func summarise(durations []time.Duration) latencies {
	if len(durations) == 0 {
		return latencies{}
	}
	slices.Sort(durations)
	last := len(durations) - 1
	at := func(percent int) float64 {
		return milliseconds(durations[min(last, (len(durations)*percent+99)/100-1)])
	}
	return latencies{p50Ms: at(50), p99Ms: at(99), maxMs: milliseconds(durations[last])}
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
