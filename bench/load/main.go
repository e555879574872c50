// Load drives a server from outside and prints one JSON line of what it saw. It is a Go program
// because clients in Node or Python are themselves the bottleneck above a few thousand calls a
// second, and because etcd's own client is written in Go.
//
//	load leases --target tipstaff|etcd --addr HOST:PORT --callers 16
//	load watch --addr HOST:PORT --watchers 50 --callers 16
//	load fill --addr HOST:PORT --agents 10000 --cards cards.json --seconds 600
//	load find --addr HOST:PORT --queries queries.json --rate 50 --callers 16
package main

//go:generate ../../node_modules/.bin/buf generate

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"
)

// patience is what a run may take beyond its warm-up and its window: connecting, joining, leaving.
const patience = 20 * time.Second

// options are the same for all commands; each reads those that concern it.
type options struct {
	target      string
	addr        string
	callers     int
	connections int
	watchers    int
	agents      int
	rate        float64
	cards       string
	queries     string
	seconds     float64
	warmup      float64
	serverPID   int
}

func main() {
	// Collect less often: the memory is there, and the load generator shares the machine's cores with
	// the server it measures.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say what to load: leases, watch, fill or find")
	}
	opts, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	whole := seconds(opts.warmup+opts.seconds) + patience
	ctx, cancel := context.WithTimeoutCause(ctx, whole, errors.New("the server does not answer"))
	defer cancel()
	var result any
	switch args[0] {
	case "leases":
		result, err = loadLeases(ctx, opts)
	case "watch":
		result, err = loadWatch(ctx, opts)
	case "fill":
		result, err = loadFill(ctx, opts)
	case "find":
		result, err = loadFind(ctx, opts)
	default:
		err = fmt.Errorf("no command %q: leases, watch, fill or find", args[0])
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func parse(command string, args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.StringVar(&opts.target, "target", "tipstaff", "what listens at addr: tipstaff or etcd")
	flags.StringVar(&opts.addr, "addr", "", "host:port of the server")
	flags.IntVar(&opts.callers, "callers", 1, "closed loops of acquire and release")
	flags.IntVar(&opts.connections, "connections", 8, "TCP connections the callers and watchers share")
	flags.IntVar(&opts.watchers, "watchers", 50, "open watch streams")
	flags.IntVar(&opts.agents, "agents", 10_000, "how many to register")
	flags.Float64Var(&opts.rate, "rate", 0, "finds a second")
	flags.StringVar(&opts.cards, "cards", "", "JSON list of cards to register with")
	flags.StringVar(&opts.queries, "queries", "", "JSON list of queries to ask")
	flags.Float64Var(&opts.seconds, "seconds", 5, "how long to measure")
	flags.Float64Var(&opts.warmup, "warmup", 2, "how long to run before measuring")
	flags.IntVar(&opts.serverPID, "server-pid", 0, "process whose CPU time to report, if any")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if opts.addr == "" || flags.NArg() > 0 {
		return opts, errors.New("needs --addr HOST:PORT and no other words")
	}
	if min(opts.connections, opts.watchers, opts.agents) < 1 || opts.seconds <= 0 || opts.warmup < 0 {
		return opts, errors.New("connections, watchers, agents and seconds must be positive")
	}
	if opts.callers < 1 && command != "find" || opts.callers < 0 || opts.rate < 0 {
		return opts, errors.New("callers must be positive, and the rate not negative")
	}
	return opts, nil
}

func (opts options) window() window {
	start := time.Now().Add(seconds(opts.warmup))
	return window{start: start, end: start.Add(seconds(opts.seconds))}
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second))
}
