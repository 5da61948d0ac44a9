// SPDX-License-Identifier: Apache-2.0

// Package web is the program of examples/webagent, shared by main packages with other stores.
package web

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel" // openai, openrouter, groq, mistral, ollama, …
	"github.com/ponte-go/ponte/app/internal/stores"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/internal/guard"
)

// Kinds are the databases that sessions can be kept in, by the scheme of their addresses.
type Kinds = stores.Kinds

// Store is a store of sessions that is closed at the end.
type Store = stores.Store

// Main runs the program until it is told to end, and exits. kinds are the databases that it can keep sessions in.
func Main(kinds stores.Kinds) {
	guard.Undumpable() // there are keys in its memory
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, os.Args[1:], os.Stdout, kinds); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "webagent: %v\n", err)
		os.Exit(1)
	}
}

// flags holds the flags of the command line.
type flags struct {
	dir, addr, store, model, env string
	open, sandbox                bool
}

// Run is the program, without the process around it. It returns when ctx has ended and the turns have.
func Run(ctx context.Context, args []string, out io.Writer, kinds stores.Kinds) error {
	var f flags
	set := flag.NewFlagSet("webagent", flag.ContinueOnError)
	set.StringVar(&f.dir, "dir", ".", "the `directory` that the agent works in")
	set.StringVar(&f.addr, "addr", "127.0.0.1:0", "the `address` to listen on")
	set.StringVar(&f.store, "store", "", "the `directory` that sessions are kept in, or the address of a database, if the program has one (default: ponte/sessions in the user's configuration directory)")
	set.StringVar(&f.model, "model", "", "the `model` that answers, as PROVIDER:NAME, or offline (default: openai:gpt-5-mini if OPENAI_API_KEY is set, else offline)")
	set.StringVar(&f.env, "env", "", "the `names` of further variables that commands get, "+
		"separated by commas; * matches any text")
	set.BoolVar(&f.sandbox, "sandbox", false, "run commands in a sandbox, with bubblewrap on Linux")
	set.BoolVar(&f.open, "open", true, "open the page in the browser")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", stores.Mask(set.Arg(0)))
	}
	dir, err := filepath.Abs(f.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	m, err := choose(ctx, f.model)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, f.store, kinds)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	return serve(ctx, &f, dir, m, store, out)
}

// openStore opens the store that the sessions are kept in.
func openStore(ctx context.Context, name string, kinds stores.Kinds) (stores.Store, error) {
	if name == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("there is no directory for sessions: use -store: %w", err)
		}
		name = filepath.Join(config, "ponte", "sessions")
	}
	place, err := kinds.At(name, "examples/webagent/postgres")
	if err != nil {
		return nil, err
	}
	return place.Open(ctx)
}

// choose returns the model that answers.
func choose(ctx context.Context, name string) (model.Model, error) {
	if name == "" && os.Getenv("OPENAI_API_KEY") != "" {
		name = "openai:" + cmp.Or(os.Getenv("OPENAI_MODEL"), "gpt-5-mini")
	}
	if name == "" || name == "offline" {
		return offline.New(offline.Config{Delay: 20 * time.Millisecond}), nil
	}
	return model.Open(ctx, name)
}

// listen serves a handler until ctx ends, and then waits for the work in progress.
func listen(ctx context.Context, f *flags, token string, h shutdowner, out io.Writer) error {
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	page := "http://" + listener.Addr().String() + "/?token=" + url.QueryEscape(token)
	_, _ = fmt.Fprintln(out, page)
	if f.open {
		defer open(page)()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	last, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return errors.Join(err, h.Shutdown(last), server.Shutdown(last))
}

// shutdowner is a handler that is shut down before its server.
type shutdowner interface {
	http.Handler
	Shutdown(ctx context.Context) error
}
