// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// Serve serves an agent to an editor over the Agent Client Protocol, version 1. It speaks JSON-RPC,
// one message a line, on the streams of config. It returns
//
//   - nil when the client has ended its side, which is how editors stop an agent, or is gone;
//   - nil after SIGTERM, SIGHUP or SIGINT, if it uses the process's streams, also if ctx ends with the signal;
//   - the cause of ctx when ctx ends;
//   - an error if a stream fails, or with all problems of the configuration;
//   - a [*StuckError] if something does not end with its context.
//
// In each case, turns are cancelled, their tools and the tools' terminals are given time to end,
// and sessions are released. Serve waits for this, for at most ShutdownTimeout. A program should
// exit when Serve returns.
//
// # Standard input and output
//
// Without In and Out, Serve uses the process's own streams while it runs. Output that the program
// prints goes to standard error, because a stray line would break the connection. Standard input is
// empty for the program and its children, and no child inherits the real streams. On Unix this
// applies to descriptors 0 and 1, so to code in other languages too, and elsewhere to os.Stdin and
// os.Stdout only. Serve then also handles SIGTERM, SIGHUP and SIGINT. A second signal ends the
// process as usual.
//
// # Sessions and turns
//
// Sessions are independent and run in parallel. A session has one turn at a time: see [host.Busy].
// A turn is one run of the agent over the session's history: text and thoughts are streamed, each
// tool call is announced once and then updated, a structured output is sent as one message, and an
// [acp.SessionUpdate] that a tool emits is sent unchanged. A client that reads slowly slows the run
// down. Commands in the background belong to the session and end with it. The history keeps what a
// turn did, however it ended. Refused turns are dropped, but for results of calls that waited.
//
// The prompt is answered when the run has ended, after all its updates:
//
//   - end_turn after an output, or max_tokens if the model was cut off;
//   - cancelled after session/cancel, $/cancel_request and session/close, whatever error they led to;
//   - max_turn_requests at the limits of requests and tool calls, max_tokens at token limits,
//     refusal if the provider withheld the answer. The user is also told in a notice, or a short
//     message if the client has no notices, because editors show little of a stop reason. Otherwise
//     an error, whose data.kind is an [ErrorKind].
//
// # What clients are told
//
// Text, links and embedded text are always accepted in prompts, images and audio if the model takes
// them. A block that cannot be taken is answered with -32602, which names the block, and the
// session continues without the prompt. Sessions can be closed. With a store they outlive the
// connection: they can be loaded, resumed, listed and deleted, and have titles. MCP servers of the
// client are used with [Options].MCP: session/new does not wait for them, and the user is told
// about those that cannot be used. With [Options].Auth, clients can log the user in and out: a
// session that begins before that, and a prompt whose model refuses the key, are answered with
// -32000, whose data.authMethods are the ways to log in. The session stays, and its history has the
// prompt. See the rules of the protocol in its chapters on initialization, session setup and the
// prompt turn.
//
// With [Options].Unstable, clients can also use methods and updates of the protocol that may still
// change: see there.
//
// # Several surfaces
//
// Serve creates its own host. With [ServeHost], an editor shares the sessions of a host with
// others, such as browsers.
func Serve[D deps.Carrier, O any](ctx context.Context, config Config[D, O]) error {
	h, err := config.host()
	if err != nil {
		return err
	}
	err = serveHost(ctx, h, config.Options)
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	_ = h.Close(over) // it waits for nothing: what could be released is
	return err
}

// ServeHost is [Serve] for a host that the program has made, and closes. Its sessions are shared by
// all who use the host: several editors, and browsers with package webbridge. Dependencies come
// from [DepsOf], in [host.Config].Deps.
//
// A session has its files and commands where it was opened first: see [host.Session.Place]. When an
// editor leaves a session that others use, the session moves to this machine. An editor is shown
// what was said elsewhere together with its own next prompt, or when it loads the session, because
// the protocol has no updates of turns that the client has not begun.
func ServeHost(ctx context.Context, h *host.Host, o Options) error {
	if h == nil {
		return errors.New("acpbridge: the host is nil: make one with host.New")
	}
	if err := o.check(); err != nil {
		return err
	}
	return serveHost(ctx, h, o)
}

func serveHost(ctx context.Context, h *host.Host, o Options) error {
	s := newServer(h, o.withDefaults(h.Logger()))
	if o.In != nil {
		return s.serve(ctx, o.In, o.Out)
	}
	return s.serveStdio(ctx)
}

// serveStdio serves on the process's streams.
func (s *server) serveStdio(ctx context.Context) error {
	std, err := takeStdio()
	if err != nil {
		return fmt.Errorf("acpbridge: serve: %w", err)
	}
	ctx, stop := withSignals(ctx)
	err = s.serve(ctx, std.in, std.out)
	signalled := stop()
	if stuck, ok := errors.AsType[*StuckError](err); ok {
		return stuck // and the streams stay as they are: somebody may still print
	}
	if signalled && ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, std.close())
}

func newServer(h *host.Host, o Options) *server {
	settings := h.Settings()
	hasModes := slices.ContainsFunc(settings, func(one view.Setting) bool { return one.ID == host.SettingMode })
	return &server{
		name: rand.Text(), info: o.Info, media: h.Model().Media, host: h, stored: h.Keeps(), unstable: o.Unstable,
		settings: len(settings) > 0, modes: hasModes, linkedFiles: o.LinkedFiles,
		shutdown: o.ShutdownTimeout, conn: o.Conn, log: h.Logger(), discreet: discreet(h, o.Out), mcp: o.MCP, auth: o.Auth,
		sessions: map[acp.SessionID]*session{}, opening: map[acp.SessionID]bool{}, leaving: map[acp.SessionID]*session{}, ending: make(chan struct{}),
	}
}
