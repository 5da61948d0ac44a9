// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// RunnerFunc makes a runner of the address of the flag -runner, for the sessions of a store. It may
// use [Env.OnClose]. found says in one line what was found, for the command doctor.
type RunnerFunc func(
	ctx context.Context, e *Env, address string, store sessions.Store,
) (r host.Runner, found string, err error)

// runners make runners by the scheme of their addresses.
var runners = struct {
	sync.Mutex
	kinds  map[string]RunnerFunc
	worker func(*Env) *cobra.Command // makes the command "worker", nil without a runner
}{kinds: map[string]RunnerFunc{}}

// RegisterRunner has programs accept -runner with addresses of a scheme, such as "temporal", and
// gives them the command "worker". See package temporal, a module of its own. It is called by init
// functions, and panics if the scheme is taken.
func RegisterRunner(scheme string, open RunnerFunc) {
	runners.Lock()
	defer runners.Unlock()
	if runners.kinds[scheme] != nil {
		panic(fmt.Sprintf("app: the runner %q is registered twice", scheme))
	}
	runners.kinds[scheme] = open
	runners.worker = (*Env).workerCommand // elsewhere, it would link a server into each program
}

// runnerKinds returns the schemes of the runners that are linked.
func runnerKinds() (all []string) {
	runners.Lock()
	defer runners.Unlock()
	for scheme := range runners.kinds {
		all = append(all, scheme)
	}
	slices.Sort(all)
	return all
}

// workerMaker returns what makes the command "worker", nil if no runner is linked.
func workerMaker() func(*Env) *cobra.Command {
	runners.Lock()
	defer runners.Unlock()
	return runners.worker
}

// runnerFlag adds -runner, if the program has a runner.
func (e *Env) runnerFlag(flags *pflag.FlagSet) {
	e.runnerAt = new(string)
	if kinds := runnerKinds(); len(kinds) > 0 {
		usage := "`address` of what distributes turns over workers: " + kinds[0] +
			"://… (default: they run in this process)"
		flags.StringVar(e.runnerAt, "runner", "", usage)
	}
}

// runnerError is an error of the runner, for doctor.
type runnerError struct{ error }

func (e *runnerError) Unwrap() error { return e.error }

// runner makes the runner that -runner names; nil if it names none.
func (e *Env) runner(ctx context.Context, store sessions.Store) (host.Runner, error) {
	if *e.runnerAt == "" {
		return nil, nil
	}
	scheme, _, ok := strings.Cut(*e.runnerAt, "://")
	runners.Lock()
	open := runners.kinds[scheme]
	runners.Unlock()
	switch {
	case !ok || open == nil:
		kinds := strings.Join(runnerKinds(), ":// or ")
		return nil, Usage("-runner: give an address that begins with %s://", kinds)
	case store == nil:
		return nil, Usage("-runner: the workers need a store that they share: leave out -no-store")
	}
	r, found, err := open(ctx, e, *e.runnerAt, store)
	if err != nil {
		return nil, &runnerError{fmt.Errorf("-runner: %w", err)}
	}
	e.runnerFound = found
	return r, nil
}

// checkRunner is a check of doctor. made is the error of the host.
func (e *Env) checkRunner(made error) []Check {
	if *e.runnerAt == "" {
		return nil
	}
	c := Check{Name: "runner", Found: e.runnerFound}
	if failed, ok := errors.AsType[*runnerError](made); ok {
		c.Err = failed
		c.Mend = "check the address of -runner, and that its server can be reached from here"
	}
	return []Check{c}
}

// workerCommand is "worker".
func (e *Env) workerCommand() *cobra.Command {
	admin := ""
	c := &cobra.Command{
		Use: "worker", Short: "Run the turns of sessions that other programs show",
		GroupID: groupOther, Args: cobra.NoArgs,
		Long: `Runs the turns that -runner gives it, for the pages and other surfaces that share its store.
With -admin, it serves /healthz and /readyz. SIGINT and SIGTERM end it: other workers continue its
turns at once, or when there is one.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return e.work(ctx, admin)
		},
	}
	c.Flags().StringVar(&admin, "admin", "", "the `address` of /healthz and /readyz")
	return c
}

// work serves until ctx ends.
func (e *Env) work(ctx context.Context, admin string) error {
	h, err := e.Open(ctx)
	if err != nil {
		return err
	}
	if _, memory := h.Store().(*sessions.Memory); memory && e.store == nil {
		return Usage("worker: there is no store to serve: leave out -no-store")
	}
	if admin != "" {
		l, err := net.Listen("tcp", admin)
		if err != nil {
			return fmt.Errorf("-admin: %w", err)
		}
		server := &http.Server{Handler: probes(ctx, h.Store()), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }()
		defer server.Close()
		fmt.Fprintln(e.Out, "http://"+l.Addr().String()+"/readyz")
	}
	fmt.Fprintln(e.Out, "working")
	if err := h.Serve(ctx); ctx.Err() == nil {
		return cmp.Or(err, errors.New("worker: it has ended"))
	}
	return nil
}

// asking is how long a store may take to answer a probe.
const asking = 2 * time.Second

// probes answer whether the process lives, and whether it can work: until it ends, if the store
// answers.
func probes(working context.Context, store sessions.Store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), asking)
		defer cancel()
		page, err := store.List(ctx, sessions.Query{Limit: 1})
		if errors.Is(err, sessions.ErrCorrupt) && len(page.Sessions) > 0 {
			err = nil // others are not
		}
		if err != nil || working.Err() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}
