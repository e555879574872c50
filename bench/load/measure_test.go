package main

import (
	"testing"
	"time"
)

func TestAPercentileIsAValueThatWasMeasured(t *testing.T) {
	var hundred []time.Duration
	for ms := 100; ms > 0; ms-- {
		hundred = append(hundred, time.Duration(ms)*time.Millisecond)
	}
	if got, want := summarise(hundred), (latencies{p50Ms: 50, p99Ms: 99, maxMs: 100}); got != want {
		t.Errorf("of 1 to 100: %v, want %v", got, want)
	}
	one := []time.Duration{7 * time.Millisecond}
	if got, want := summarise(one), (latencies{p50Ms: 7, p99Ms: 7, maxMs: 7}); got != want {
		t.Errorf("of one value: %v, want %v", got, want)
	}
}

func TestAWindowHoldsItsStartAndNotItsEnd(t *testing.T) {
	start := time.Now()
	w := window{start: start, end: start.Add(time.Second)}
	if !w.holds(w.start) || w.holds(w.end) || w.holds(start.Add(-1)) {
		t.Error("a window is closed at its start and open at its end")
	}
}
