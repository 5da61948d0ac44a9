// SPDX-License-Identifier: Apache-2.0

// Package web has programs of package app serve a page, and APIs for programs, over HTTP: their
// command "web". See package webbridge for what is served.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/webbridge"
)

// Options configures the surface. The zero value is useful.
type Options struct {
	// Bridge returns the options of the handler. Token, Title, Dirs, Page and Protocols are filled
	// in if they are empty: all protocols are served, under paths that docs/web.md has. It is
	// called when the host has been made. Nil means the zero value.
	Bridge func() webbridge.Options
}

// New returns the surface "web".
func New(o Options) app.Surface { return &surface{o: o} }

type surface struct {
	o                Options
	dir, addr, admin string
	hosts            []string
	open             bool
}

// Name implements [app.Surface].
func (*surface) Name() string { return "web" }

// Command implements [app.Surface].
func (s *surface) Command(e *app.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "web",
		Short: "Serve a page, and APIs for programs, over HTTP",
		Long: `Serves a page, and APIs for programs. It listens on this machine only, unless -addr says otherwise.
The first line of the output is the address of the page, with a token that admits its bearer. The
page is at "/", the API for programs at "/api/", OpenAI's API at "/v1/" with the program's name as
the model; pages of your own find useChat at "/api/chat" and AG-UI at "/api/agui". SIGINT and
SIGTERM end it when the running turns have ended, a second one at once.

The token is that of the variable ` + Variable(e.Name) + `, or a new one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return s.run(ctx, e)
		},
	}
	c.Flags().StringVar(&s.dir, "dir", ".", "the `directory` that the agent works in")
	c.Flags().StringVar(&s.addr, "addr", "127.0.0.1:0", "the `address` to listen on")
	c.Flags().StringSliceVar(&s.hosts, "host", nil, "a `name` that the server has for others, such as chat.example.com; others are refused (default: this machine)")
	c.Flags().StringVar(&s.admin, "admin", "", "the `address` of /healthz, /readyz and /metrics, which need no token; the first two are at -addr, too")
	c.Flags().BoolVar(&s.open, "open", true, "open the page in the browser")
	return c
}

// Variable returns the name of the variable with the token of a program's page.
func Variable(program string) string {
	return strings.ToUpper(strings.ReplaceAll(program, "-", "_")) + "_TOKEN"
}

// run serves until ctx ends, and then waits for the work in progress.
func (s *surface) run(ctx context.Context, e *app.Env) error {
	dir, err := filepath.Abs(s.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return app.Usage("-dir: %w", err)
	}
	h, err := e.Open(ctx)
	if err != nil {
		return err
	}
	token := e.Getenv(Variable(e.Name))
	if token == "" {
		token = webbridge.NewToken()
	}
	handler, err := Handler(e, h, s.o, webbridge.Options{Token: token, Dirs: []string{dir}, Hosts: s.hosts})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	failed := make(chan error, 2)
	handler.WillServe()
	server := serve(listener, withProbes(handler, handler, false), failed)
	defer server.Close()
	defer takeUp(e, handler)()
	if s.admin != "" {
		more, err := net.Listen("tcp", s.admin)
		if err != nil {
			return errors.Join(fmt.Errorf("-admin: %w", err), handler.Shutdown(ctx))
		}
		defer serve(more, withProbes(handler, http.NotFoundHandler(), true), failed).Close()
	}
	page := "http://" + listener.Addr().String() + "/?token=" + url.QueryEscape(token)
	fmt.Fprintln(e.Out, page)
	if s.open {
		defer open(e.Name, page)()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	last, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return errors.Join(err, handler.Shutdown(last), server.Shutdown(last))
}

// takeUp continues the turns of programs on the same store that were killed, until stop is called.
func takeUp(e *app.Env, h *webbridge.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := h.Serve(ctx); ctx.Err() == nil && !errors.Is(err, errors.ErrUnsupported) {
			e.Logger.Error("turns of programs that were killed are not taken up", "error", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// serve serves on a listener. Its error, if it ends by itself, is sent to failed.
func serve(l net.Listener, h http.Handler, failed chan<- error) *http.Server {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return server
}

// withProbes adds what load balancers and monitoring ask for.
func withProbes(h *webbridge.Handler, rest http.Handler, metrics bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.Handle("GET /readyz", h.Health())
	if metrics {
		mux.Handle("GET /metrics", h.Metrics())
	}
	mux.Handle("/", rest)
	return mux
}

// Handler returns a handler for the sessions of a program: its page, the API and the protocols. Use
// it with [app.Env.Host] in programs that run their own server. b has defaults for what o leaves
// empty. Shut the handler down before the server.
func Handler(e *app.Env, h *host.Host, o Options, b webbridge.Options) (*webbridge.Handler, error) {
	if o.Bridge != nil {
		own := o.Bridge()
		if own.Token == "" && own.User == nil {
			own.Token = b.Token
		}
		if own.Dirs == nil {
			own.Dirs = b.Dirs
		}
		if own.Hosts == nil {
			own.Hosts = b.Hosts
		}
		b = own
	}
	if b.Title == "" {
		b.Title = e.Title
	}
	if b.Version == "" {
		b.Version = e.Version
	}
	if b.Page == nil {
		b.Page = webbridge.Page()
	}
	if b.Logger == nil {
		b.Logger = e.Logger
	}
	if b.Scores == nil {
		b.Scores = scores{h.Store()}
	}
	if b.Protocols == nil {
		b.Protocols = []webbridge.Protocol{
			webbridge.OpenAI(webbridge.OpenAIOptions{Name: e.Name}), webbridge.UIStream(
				webbridge.UIStreamOptions{},
			), webbridge.AGUI(webbridge.AGUIOptions{}),
		}
	}
	return webbridge.On(h, b)
}
