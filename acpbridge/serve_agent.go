// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
)

// server is the agent's side of a connection. It has no type parameters: open makes the typed side
// of a session.
type server struct {
	acp.UnimplementedAgent

	name        string // of the connection, in the keys of places
	info        acp.Implementation
	media       []string
	host        *host.Host
	settings    bool // sessions have settings, and modes among them
	modes       bool
	stored      bool // sessions outlive the connection
	unstable    bool // what is not stable is served too
	shutdown    time.Duration
	conn        acp.ConnOptions
	log         *slog.Logger
	discreet    bool       // the client is told what the host says of errors
	mcp         MCPServers // nil means that there are none
	auth        Auth       // nil means that nobody has to log in
	linkedFiles int
	client      acp.Client
	ending      chan struct{}   // closed when Serve begins to end
	base        context.Context // of turns that the client has not asked for

	mu       sync.Mutex
	peer     acp.InitializeRequest // what the client has said about itself
	takes    clientUpdates
	sessions map[acp.SessionID]*session
	opening  map[acp.SessionID]bool     // that are being loaded or resumed
	leaving  map[acp.SessionID]*session // that have ended for the client, and are not released
	closing  bool
}

var _ acp.Agent = (*server)(nil)

// Initialize implements [acp.Agent]. It does no I/O. Whatever version the client proposes, the
// answer is the one that there is.
func (s *server) Initialize(ctx context.Context, p *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	s.mu.Lock()
	s.peer = *p
	s.mu.Unlock()
	if err := s.initializeUnstable(ctx); err != nil {
		return nil, err
	}
	info := s.info
	var servers acp.MCPCapabilities
	if s.mcp != nil {
		servers = s.mcp.Capabilities()
	}
	can := acp.SessionCapabilities{
		AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{}, Close: &acp.SessionCloseCapabilities{},
	}
	if s.stored {
		can.List, can.Delete, can.Resume = &acp.SessionListCapabilities{}, &acp.SessionDeleteCapabilities{}, &acp.SessionResumeCapabilities{}
	}
	return &acp.InitializeResponse{
		ProtocolVersion: acp.Version,
		AgentInfo:       &info,
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:         s.stored,
			PromptCapabilities:  promptCapabilities(s.media),
			MCPCapabilities:     servers,
			SessionCapabilities: can,
			Auth:                s.authCapabilities(),
		},
		AuthMethods: s.authMethods(),
		Meta:        extensionsMeta(takesTurns(&p.ClientCapabilities)),
	}, nil
}

// NewSession implements [acp.Agent].
func (s *server) NewSession(ctx context.Context, p *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	acp.Async(ctx) // Deps may take its time; nothing that the client writes next can be about this session
	if err := checkDirectories(p.Cwd, p.AdditionalDirectories); err != nil {
		return nil, err
	}
	if err := s.checkAuth(ctx); err != nil {
		return nil, err
	}
	session, err := s.newSession(ctx, p)
	if err != nil {
		return nil, s.withMethods(err)
	}
	s.log.Info("acpbridge: session begins", "session", session.id)
	resp := &acp.NewSessionResponse{SessionID: session.id}
	resp.Modes, resp.ConfigOptions = session.offered()
	return resp, nil
}

func (s *server) newSession(ctx context.Context, p *acp.NewSessionRequest) (*session, error) {
	made := s.makeSession(acp.SessionID(rand.Text()), p.Cwd, p.AdditionalDirectories)
	var err error
	if made.hosted, err = s.host.Create(ctx, description(made.id, p.Cwd, p.AdditionalDirectories), made); err != nil {
		return nil, s.notOpened("the session cannot be made", made.id, err)
	}
	made.blank = true
	if err := s.opened(ctx, made, p.MCPServers); err != nil {
		return nil, err
	}
	return made, nil
}

// makeSession makes the client's side of a session.
func (s *server) makeSession(id acp.SessionID, dir string, more []string) *session {
	client := newSessionClient(s.client)
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &session{id: id, client: client, gone: make(chan struct{}), tracker: deps.NewTracker(client, id, &deps.TrackerOptions{Transcript: client}), server: s.name, stored: s.stored, takes: s.takes.options(s.peer.ClientCapabilities), info: &deps.Session{
		ID: id, Cwd: dir, AdditionalDirectories: more, Capabilities: s.peer.ClientCapabilities, ClientInfo: s.peer.ClientInfo,
	}}
	client.foreign = made.foreign
	return made
}

// opened makes a session known to the client, after the answer to the request.
func (s *server) opened(ctx context.Context, session *session, servers []acp.MCPServer) error {
	if session.ours() && session.made().Client == nil {
		s.log.Warn("acpbridge: Deps has dropped the deps.ACPDeps that it was given: tools cannot use the editor", "session", session.id)
	}
	session.quiet = session.hosted.Announce(session.announce)
	s.openServers(session, servers)
	s.mu.Lock()
	closing := s.closing
	if !closing {
		s.sessions[session.id] = session
	}
	s.mu.Unlock()
	if closing {
		s.endSession(ctx, ctx, session)
		return shuttingDown()
	}
	s.tellCommands(ctx, session)
	session.tellWaiting(ctx)
	if takesTurns(&session.info.Capabilities) {
		run := func(w *host.Waiting, admit admission) { s.runWaiting(session, w, admit) }
		session.runs.Store(&run)
	}
	acp.AfterResponse(ctx, session.client.gate.announce)
	return nil
}

// checkDirectories keeps to what the protocol asks: absolute paths, of the platform that the agent
// runs on.
func checkDirectories(cwd string, more []string) error {
	if !filepath.IsAbs(cwd) {
		return acp.Errorf(acp.CodeInvalidParams, "invalid params: cwd %q is not an absolute path", cwd).WithData(errorData{Kind: KindSession})
	}
	for i, dir := range more {
		if !filepath.IsAbs(dir) {
			return acp.Errorf(acp.CodeInvalidParams, "invalid params: additionalDirectories[%d] %q is not an absolute path", i, dir).
				WithData(errorData{Kind: KindSession, Index: &i})
		}
	}
	return nil
}

// warnAboutServers names the MCP servers that the session does without. Their commands and headers
// may hold secrets.
func (s *server) warnAboutServers(id acp.SessionID, servers []acp.MCPServer) {
	for i := range servers {
		name := "of an unknown kind"
		switch m := &servers[i]; {
		case m.Stdio != nil:
			name = m.Stdio.Name
		case m.HTTP != nil:
			name = m.HTTP.Name
		case m.SSE != nil:
			name = m.SSE.Name
		}
		s.log.Warn("acpbridge: an MCP server of the client is not used: Options.MCP is not set", "session", id, "server", name)
	}
}

// Prompt implements [acp.Agent].
func (s *server) Prompt(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
	session := s.session(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	if resp, ok, err := s.atOnce(ctx, session, p.Prompt); ok {
		return resp, s.withMethods(err)
	}
	parts, links, err := promptParts(p.Prompt, s.media)
	if err != nil {
		return nil, err
	}
	t, err := session.admit(ctx, s.host.Busy())
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	in := &runInput{prompt: p, parts: parts, links: links, shown: acpview.Contents(p.Prompt)}
	resp, err := t.prompted(s, in)
	return resp, s.withMethods(err)
}

// Cancel implements [acp.Agent]. The connection has ended the contexts of the prompts.
func (s *server) Cancel(_ context.Context, n *acp.CancelNotification) error {
	if session := s.session(n.SessionID); session != nil {
		session.cancelOwn()
	}
	return nil
}

// CloseSession implements [acp.Agent]. The session is gone as soon as it is called. The answer
// waits for the turns to end, but no longer than Serve itself would.
func (s *server) CloseSession(ctx context.Context, p *acp.CloseSessionRequest) (*acp.CloseSessionResponse, error) {
	session := s.take(p.SessionID)
	if session == nil {
		return nil, unknownSession(p.SessionID)
	}
	acp.Async(ctx)
	s.close(ctx, session)
	return nil, nil
}

// take ends a session for the client, and cancels its turns. It returns nil if the session does not
// exist.
func (s *server) take(id acp.SessionID) *session {
	s.mu.Lock()
	session := s.sessions[id]
	if session != nil {
		delete(s.sessions, id)
		s.leaving[id] = session
	}
	s.mu.Unlock()
	if session != nil {
		session.end(errSessionClosed, unknownSession(id))
	}
	return session
}

// close waits for the turns of a session that has ended, and releases it, also if the client has
// ended its side meanwhile. It reports whether that was done in time. If not, the session is
// released when its turns have ended.
func (s *server) close(ctx context.Context, session *session) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdown)
	defer cancel()
	if !s.endSession(ctx, ctx, session) {
		s.log.Warn("acpbridge: session closed, but something ignores its context", "session", session.id)
		go s.closeLater(session)
		return false
	}
	s.left(session)
	return true
}

// closeLater releases a session that could not be released in time. When Serve ends, that is left
// to it.
func (s *server) closeLater(session *session) {
	for _, t := range session.unfinished() {
		select {
		case <-t.ended:
		case <-s.ending:
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.shutdown)
	defer cancel()
	if s.endSession(ctx, ctx, session) {
		s.left(session)
	}
}

// left forgets a session that has been released.
func (s *server) left(session *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[session.id] == session {
		delete(s.leaving, session.id)
		close(session.gone)
		s.log.Info("acpbridge: session ends", "session", session.id)
	}
}

// waitLeft waits for the release of a session that has been closed, before it is opened again. The
// error is the answer to the request.
func (s *server) waitLeft(ctx context.Context, id acp.SessionID) error {
	s.mu.Lock()
	old := s.leaving[id]
	s.mu.Unlock()
	if old == nil {
		return nil
	}
	late := time.NewTimer(s.shutdown)
	defer late.Stop()
	select {
	case <-old.gone:
		return nil
	case <-ctx.Done():
	case <-late.C:
	}
	return busySession(id)
}

func (s *server) session(id acp.SessionID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// allSessions returns the sessions that have not been released.
func (s *server) allSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(s.sessions)), maps.Values(s.leaving))
}

// logError logs the kind of an error, not its text, which may hold what users and files say. A
// panic is logged with its stack.
func (s *server) logError(what string, id acp.SessionID, err error) {
	attrs := []any{"session", id}
	if err != nil {
		var root = err
		if run, ok := errors.AsType[*agent.RunError](err); ok {
			attrs = append(attrs, "stage", string(run.Stage), "tool", run.Tool)
			root = run.Err
		}
		attrs = append(attrs, "error", fmt.Sprintf("%T", root))
		if p, ok := errors.AsType[*agent.PanicError](err); ok {
			attrs = append(attrs, "stack", string(p.Stack))
		}
	}
	s.log.Error("acpbridge: "+what, attrs...)
}
