// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// Handler serves the sessions of a host over HTTP. It is safe for concurrent use. [Handler.Shutdown] must be called.
type Handler struct {
	o       *Options
	host    *host.Host
	own     bool // the host is closed with the handler
	secrets *secrets
	mux     *http.ServeMux
	forms   []form // of errors

	mu       sync.Mutex
	live     map[string]*live
	accounts map[string]*account
	streams  int
	turns    sync.WaitGroup

	list    listening
	closing chan struct{} // closed when nothing new begins
	ending  chan struct{} // closed when streams end
	counts  counts
}

// Protocol is another protocol for the agent of a handler. [UIStream], [AGUI] and [OpenAI] return some.
type Protocol interface {
	// Register adds the routes of the protocol, with [Handler.Handle].
	Register(h *Handler)
}

// New returns a handler with its own host.
func New[D, O any](c Config[D, O]) (*Handler, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	on, err := host.New(c.Host)
	if err != nil {
		return nil, err
	}
	o := c.Options
	if o.Accepts == nil {
		o.Accepts = accepted(c.Host.Agent.ModelInfo().Media)
	}
	if o.Commands == nil {
		for _, command := range c.Host.Agent.Commands() {
			o.Commands = append(o.Commands, view.SlashCommand{Name: command.Name, Description: command.Description, Hint: command.Hint})
		}
	}
	return newHandler(on, o, true), nil
}

// On returns a handler for a host that the program has made and closes. The host's own options stay
// in effect, such as Busy for prompts during a turn.
func On(h *host.Host, o Options) (*Handler, error) {
	if h == nil {
		return nil, errors.New("webbridge: the host is nil: make one with host.New")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return newHandler(h, o, false), nil
}

func newHandler(on *host.Host, o Options, own bool) *Handler {
	o.fill()
	known := newSecrets(o.Token)
	o.Token = "" // not needed any more
	h := &Handler{
		o: &o, host: on, own: own, secrets: known, mux: http.NewServeMux(), live: map[string]*live{}, accounts: map[string]*account{},
		closing: make(chan struct{}), ending: make(chan struct{}),
	}
	for route, handle := range h.routes() {
		h.Handle(strings.Replace(route, "{question}", "{question...}", 1), handle) // the ids of questions have slashes
	}
	h.Handle("/api/", func(_ http.ResponseWriter, r *http.Request) error {
		return refuse(KindNotFound, "there is no route %s %s: see api/openapi.json", r.Method, r.URL.Path)
	})
	h.Handle("/v1/", func(_ http.ResponseWriter, r *http.Request) error {
		return refuse(KindNotFound, "there is no route %s %s", r.Method, r.URL.Path)
	})
	for _, p := range o.Protocols {
		p.Register(h)
	}
	h.mux.HandleFunc("/", h.page)
	return h
}

// routes are the routes of the API with their handlers. The document in openapi.json describes
// them.
func (h *Handler) routes() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/openapi.json":                              h.getDocument,
		"GET /api/config":                                    h.getConfig,
		"GET /api/events":                                    h.getFeed,
		"GET /api/sessions":                                  h.listSessions,
		"POST /api/sessions":                                 h.createSession,
		"GET /api/sessions/{id}":                             h.getSession,
		"PATCH /api/sessions/{id}":                           h.patchSession,
		"DELETE /api/sessions/{id}":                          h.deleteSession,
		"POST /api/sessions/{id}/prompts":                    h.postPrompt,
		"GET /api/sessions/{id}/events":                      h.getEvents,
		"POST /api/sessions/{id}/questions/{question...}":    h.postAnswer,
		"GET /api/sessions/{id}/waiting":                     h.getWaiting,
		"PUT /api/sessions/{id}/waiting/{prompt}":            h.putWaiting,
		"DELETE /api/sessions/{id}/waiting/{prompt}":         h.deleteWaiting,
		"GET /api/sessions/{id}/permissions":                 h.getPermissions,
		"DELETE /api/sessions/{id}/permissions/{permission}": h.deletePermission,
		"POST /api/sessions/{id}/cancel":                     h.postCancel,
		"POST /api/sessions/{id}/rewind":                     h.postRewind,
		"POST /api/sessions/{id}/fork":                       h.postFork,
		"PUT /api/sessions/{id}/settings/{setting}":          h.putSetting,
		"GET /api/sessions/{id}/scores":                      h.getScores,
		"PUT /api/sessions/{id}/scores/{prompt}":             h.putMark,
	}
}

// Handle adds a route of a [Protocol], with a pattern as [http.ServeMux] has them. Requests are checked like all
// others, and their context has the [User]. An error of the function is the answer, as JSON, unless the function has
// already written.
func (h *Handler) Handle(pattern string, f func(http.ResponseWriter, *http.Request) error) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &recorder{ResponseWriter: w}
	defer func() { h.counts.request(counted.status) }()
	h.hurry(counted, r)
	if h.preflight(counted, r) {
		return
	}
	err := h.guard(counted, r)
	if err == nil && h.visit(counted, r) {
		return
	}
	if err == nil {
		if known, wrong := h.identify(r); wrong != nil {
			err = wrong
		} else {
			r = known
		}
	}
	if err != nil {
		h.fail(counted, r, err)
		return
	}
	h.mux.ServeHTTP(counted, r)
}

// page serves what is not part of the API.
func (h *Handler) page(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.o.Page != nil:
		h.o.Page.ServeHTTP(w, r)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, "This server has no page. Its API is described in api/openapi.json.")
	default:
		http.NotFound(w, r)
	}
}

func (h *Handler) getConfig(w http.ResponseWriter, _ *http.Request) error {
	answer := struct {
		Title    string              `json:"title"`
		Version  string              `json:"version"`
		Accepts  []string            `json:"accepts"`
		Store    bool                `json:"store"`
		Commands []view.SlashCommand `json:"commands"`
		Files    bool                `json:"files"`
		Scores   bool                `json:"scores"`
	}{
		h.o.Title, h.o.Version, h.o.Accepts, true, h.o.Commands, h.host.UndoesFiles(),
		h.o.Scores != nil,
	}
	if answer.Accepts == nil {
		answer.Accepts = []string{}
	}
	if answer.Commands == nil {
		answer.Commands = []view.SlashCommand{}
	}
	if _, memory := h.host.Store().(*session.Memory); memory {
		answer.Store = false
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// Host returns the host of the sessions.
func (h *Handler) Host() *host.Host { return h.host }

// Shutdown waits for the turns to end, and then closes the sessions. New prompts and streams are refused, runs that
// wait for approval end pending, and streams continue until the turns have ended. If ctx ends first, the turns are
// cancelled, and Shutdown returns its cause. Shut the server down after the handler, because open streams would delay
// it.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.isClosing() {
		close(h.closing)
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		h.turns.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		h.cancelAll()
		<-ended
	}
	return errors.Join(err, h.end(ctx))
}

// end ends the streams, and closes what the handler has opened.
func (h *Handler) end(ctx context.Context) error {
	h.mu.Lock()
	select {
	case <-h.ending:
	default:
		close(h.ending)
	}
	for _, l := range h.live {
		if l.linger != nil {
			l.linger.Stop()
		}
	}
	h.mu.Unlock()
	if h.own {
		return h.host.Close(context.WithoutCancel(ctx))
	}
	h.leaveAll(context.WithoutCancel(ctx))
	return nil
}

// isClosing reports whether nothing new may begin.
func (h *Handler) isClosing() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}

var errClosing = refuse(KindUnavailable, "the server is shutting down: try again")

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (h *Handler) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "webbridge.Handler") }
