// SPDX-License-Identifier: Apache-2.0

// Package mcp has programs of package app serve their agent as a tool over the Model Context
// Protocol, for other agents: their command "mcp".
//
// The server has one tool, "ask". A conversation that it begins is a session like all others: it is
// kept, and continued by its id. Without a store, this is true of the last ten answers.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// Options configures the surface. The zero value is useful.
type Options struct {
	// Description tells the client's model what to ask the agent. Empty means the program's About.
	Description string
}

// New returns the surface "mcp".
func New(o Options) app.Surface { return surface{o} }

type surface struct{ o Options }

// Name implements [app.Surface].
func (surface) Name() string { return "mcp" }

// Command implements [app.Surface].
func (s surface) Command(e *app.Env) *cobra.Command {
	dir, addr, yes := "", "", false
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Be a tool for other agents: speak MCP on standard input and output",
		Long: `Speaks the Model Context Protocol (MCP) on standard input and output, or over HTTP at "/mcp" of -addr.
The server has one tool, "ask", which asks the agent. Nobody can be asked for permission there: calls
that need it are refused, unless there is -yes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			at, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			h, err := e.Open(ctx)
			if err != nil {
				return err
			}
			server, err := Server(ctx, e, h, s.o, at, yes)
			if err != nil {
				return err
			}
			if addr != "" {
				return listen(ctx, e, server, addr)
			}
			err = server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(e.In), Writer: nopCloser{e.Out}})
			if ctx.Err() != nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", ".", "the `directory` that the agent works in")
	c.Flags().StringVar(&addr, "addr", "", "the `address` to listen on instead of standard input")
	c.Flags().BoolVar(&yes, "yes", false, "allow everything without asking")
	return c
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// listen serves over HTTP until ctx ends.
func listen(ctx context.Context, e *app.Env, server *sdk.Server, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	fmt.Fprintf(e.Out, "http://%s/mcp\n", l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return h.Shutdown(last)
	}
}

type none = struct{}

type question struct {
	Prompt  string `json:"prompt" validate:"required" jsonschema:"description=What to ask or to do"`
	Session string `json:"session,omitempty" jsonschema:"description=Id of a conversation to continue; leave it out to begin one"`
}

type answer struct {
	Answer  string `json:"answer"`
	Session string `json:"session" jsonschema:"description=Id to continue the conversation with"`
}

// Server returns the server for the sessions of a host, which work in a directory. allow allows all
// calls that need approval; otherwise they are refused.
func Server(ctx context.Context, e *app.Env, h *host.Host, o Options, dir string, allow bool) (*sdk.Server, error) {
	about := cmp.Or(o.Description, e.About, "Ask "+e.Title+".")
	recent := make(chan *host.Session, 20)
	ask := toolset.Func("ask", about, func(ctx context.Context, _ *toolset.RunContext[none], q question) (answer, error) {
		return put(ctx, h, recent, q, dir, allow)
	}, toolset.OfKind(toolset.KindOther, "Ask "+e.Title))
	return mcptoolset.Export(ctx, toolset.Of(ask), mcptoolset.ExportConfig[none]{
		Name: e.Name, Version: e.Version, Logger: e.Logger,
	})
}

// put asks the agent. Without a store, a session ends when it is left: recent keeps the sessions of
// the last answers open. It has room for twice as many, for calls at the same time.
func put(
	ctx context.Context, h *host.Host, recent chan *host.Session, q question, dir string, allow bool,
) (a answer, err error) {
	var s *host.Session
	if q.Session == "" {
		s, err = h.Create(ctx, session.New{Dir: dir}, host.Local)
	} else {
		s, err = open(ctx, h, q.Session, dir)
	}
	if err != nil {
		return a, explain(err)
	}
	defer func() {
		if err == nil && !h.Keeps() {
			recent <- s
			if len(recent) <= cap(recent)/2 {
				return
			}
			s = <-recent
		}
		_ = s.Leave(context.WithoutCancel(ctx), nil)
	}()
	p := host.Prompt{
		Parts: []model.Part{model.User(q.Prompt)}, Plain: true,
		Asker: toolset.AskerFuncs{OnApprove: refuse},
	}
	if allow {
		p.Asker = toolset.AskerFuncs{OnApprove: permit}
	}
	out, err := s.Prompt(ctx, p)
	switch {
	case err != nil:
		return a, explain(err)
	case out.Err != nil:
		return a, toolset.Failed("%s", out.Failure)
	}
	shown, _, err := s.Snapshot(ctx)
	if err != nil {
		return a, err
	}
	return answer{said(shown), s.ID()}, nil
}

// open opens a session of the directory. Clients must not name sessions that work elsewhere.
func open(ctx context.Context, h *host.Host, id, dir string) (*host.Session, error) {
	info, err := h.Store().Get(ctx, id)
	if err == nil && info.Dir != dir {
		err = session.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return h.Open(ctx, id, host.Local)
}

func refuse(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
	return toolset.Deny("Nobody can be asked here."), nil
}

func permit(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
	return toolset.Allow(), nil
}

// explain returns an error that the client's model may see.
func explain(err error) error {
	switch {
	case errors.Is(err, session.ErrNotFound):
		return toolset.Failed("there is no such session; leave it out to begin one")
	case errors.Is(err, session.ErrHeld), errors.Is(err, host.ErrBusy):
		return toolset.Failed("the session is in use; try again later, or leave it out to begin one")
	}
	return err
}

// said returns what the agent said last to the last prompt.
func said(s *view.Snapshot) (text string) {
	for e := range s.All() {
		switch {
		case e.Kind != view.Message:
		case e.Role == view.User:
			text = ""
		case e.Role == view.Assistant:
			text = e.Text()
		}
	}
	return show.Text(text)
}
