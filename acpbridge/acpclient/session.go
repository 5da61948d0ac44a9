// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// SessionConfig configures a session.
type SessionConfig struct {
	// Cwd is the absolute path of the session's directory. The default is the first root of the workspace, or else
	// the current directory.
	Cwd string
	// AdditionalDirectories are the absolute paths of further directories. If the agent does not support them, that
	// is an error. The default is the further roots of the workspace, if the agent supports them.
	AdditionalDirectories []string
	// MCPServers are MCP servers for the agent to connect to.
	MCPServers []acp.MCPServer
	// Workspace replaces [Config.Workspace] for this session. It must not have more features, because the agent was
	// told of them when it was started.
	Workspace workspace.Workspace
	// Permission replaces [Config.Permission] for this session.
	Permission PermissionFunc
	// Elicitation replaces [Config.Elicitation] for this session. It is used only if that one is set too, because
	// agents are told about it when they are started.
	Elicitation ElicitationFunc
	// Policy remembers "always" decisions. The default is an empty one for each session.
	Policy *approval.Policy
}

// Session is a conversation with an agent.
type Session struct {
	client    *Client
	id        acp.SessionID
	cwd       string
	workspace workspace.Workspace // nil if there is none
	policy    *approval.Policy
	ask       PermissionFunc // nil for nobody
	terminals terminals

	elicitation ElicitationFunc // nil for the client's

	mu      sync.Mutex
	fold    folder
	turn    *turn         // in progress
	begun   *turn         // the last one that the client has not asked for, until it is asked for
	begins  chan struct{} // has an element when there is news of that
	loading bool          // updates belong to a replay
	ended   bool
	granted []grant // what the agent has asked for in this turn, and may do
	asked   int     // questions so far
	waiting int     // requests of the agent that wait for a person
}

// NewSession opens a session.
func (c *Client) NewSession(ctx context.Context, config SessionConfig) (*Session, error) {
	return c.create(acp.MethodNewSession, config, func(s *Session, dirs []string) (*acp.NewSessionResponse, error) {
		resp, err := c.conn.NewSession(ctx, &acp.NewSessionRequest{Cwd: s.cwd, AdditionalDirectories: dirs, MCPServers: servers(config.MCPServers)})
		if err != nil {
			return nil, c.failed(ctx, acp.MethodNewSession, err)
		}
		return resp, nil
	})
}

// create opens a session that the agent makes and gives its id.
func (c *Client) create(method string, config SessionConfig, call func(s *Session, dirs []string) (*acp.NewSessionResponse, error)) (*Session, error) {
	s, dirs, err := c.prepare(config)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.opening++
	c.mu.Unlock()
	defer c.opened()
	resp, err := call(s, dirs)
	if err != nil {
		return nil, err
	}
	if resp.SessionID == "" {
		return nil, &ProtocolError{Method: method, Problem: "the session has no id"}
	}
	s.id = resp.SessionID
	s.options(resp.Modes, resp.ConfigOptions)
	return s, c.register(s, method)
}

// LoadSession opens an earlier session. It returns when the agent has replayed the conversation.
func (c *Client) LoadSession(ctx context.Context, id acp.SessionID, config SessionConfig) (*Session, error) {
	if !c.hello.AgentCapabilities.LoadSession {
		return nil, c.unsupported(acp.MethodLoadSession)
	}
	s, dirs, err := c.prepare(config)
	if err != nil {
		return nil, err
	}
	s.id, s.loading = id, true
	if err := c.register(s, acp.MethodLoadSession); err != nil {
		return nil, err
	}
	resp, err := c.conn.LoadSession(ctx, &acp.LoadSessionRequest{
		SessionID: id, Cwd: s.cwd, AdditionalDirectories: dirs, MCPServers: servers(config.MCPServers),
	})
	if err != nil {
		c.forget(s)
		return nil, c.failed(ctx, acp.MethodLoadSession, err)
	}
	s.mu.Lock()
	s.loading = false
	s.fold.breakMessage()
	s.mu.Unlock()
	s.options(resp.Modes, resp.ConfigOptions)
	return s, nil
}

// ResumeSession opens an earlier session without a replay, so the earlier conversation is not shown.
func (c *Client) ResumeSession(ctx context.Context, id acp.SessionID, config SessionConfig) (*Session, error) {
	if c.hello.AgentCapabilities.SessionCapabilities.Resume == nil {
		return nil, c.unsupported(acp.MethodResumeSession)
	}
	s, dirs, err := c.prepare(config)
	if err != nil {
		return nil, err
	}
	s.id = id
	if err := c.register(s, acp.MethodResumeSession); err != nil {
		return nil, err
	}
	resp, err := c.conn.ResumeSession(ctx, &acp.ResumeSessionRequest{
		SessionID: id, Cwd: s.cwd, AdditionalDirectories: dirs, MCPServers: servers(config.MCPServers),
	})
	if err != nil {
		c.forget(s)
		return nil, c.failed(ctx, acp.MethodResumeSession, err)
	}
	s.options(resp.Modes, resp.ConfigOptions)
	return s, nil
}

// Sessions lists the agent's sessions in a directory, or all of them if dir is empty. It requests page after page. An
// error is yielded last.
func (c *Client) Sessions(ctx context.Context, dir string) iter.Seq2[acp.SessionInfo, error] {
	return func(yield func(acp.SessionInfo, error) bool) {
		if c.hello.AgentCapabilities.SessionCapabilities.List == nil {
			yield(acp.SessionInfo{}, c.unsupported(acp.MethodListSessions))
			return
		}
		req := &acp.ListSessionsRequest{}
		if dir != "" {
			req.Cwd = &dir
		}
		seen := map[string]bool{}
		for {
			resp, err := c.conn.ListSessions(ctx, req)
			if err != nil {
				yield(acp.SessionInfo{}, c.failed(ctx, acp.MethodListSessions, err))
				return
			}
			for _, info := range resp.Sessions {
				if !yield(info, nil) {
					return
				}
			}
			if resp.NextCursor == nil || *resp.NextCursor == "" {
				return
			}
			if seen[*resp.NextCursor] {
				yield(acp.SessionInfo{}, &ProtocolError{Method: acp.MethodListSessions, Problem: "the same cursor came twice"})
				return
			}
			seen[*resp.NextCursor] = true
			req.Cursor = resp.NextCursor
		}
	}
}

// DeleteSession deletes a session.
func (c *Client) DeleteSession(ctx context.Context, id acp.SessionID) error {
	if c.hello.AgentCapabilities.SessionCapabilities.Delete == nil {
		return c.unsupported(acp.MethodDeleteSession)
	}
	if _, err := c.conn.DeleteSession(ctx, &acp.DeleteSessionRequest{SessionID: id}); err != nil {
		return c.failed(ctx, acp.MethodDeleteSession, err)
	}
	return nil
}

// prepare makes a session that has no id yet, and its additional directories.
func (c *Client) prepare(config SessionConfig) (*Session, []string, error) {
	s := &Session{client: c, cwd: config.Cwd, workspace: config.Workspace, policy: config.Policy, ask: config.Permission, elicitation: config.Elicitation}
	if s.ask == nil {
		s.ask = c.config.Permission
	}
	offers := c.hello.AgentCapabilities.SessionCapabilities.AdditionalDirectories != nil
	if len(config.AdditionalDirectories) > 0 && !offers {
		return nil, nil, c.unsupported("additional directories")
	}
	for i := range config.MCPServers {
		m, can := &config.MCPServers[i], c.hello.AgentCapabilities.MCPCapabilities
		if m.HTTP != nil && !can.HTTP {
			return nil, nil, c.unsupported("MCP servers over HTTP")
		}
		if m.SSE != nil && !can.SSE {
			return nil, nil, c.unsupported("MCP servers over SSE")
		}
	}
	dirs := config.AdditionalDirectories
	if s.workspace == nil {
		s.workspace = c.config.Workspace
	}
	if s.workspace != nil {
		roots := s.workspace.Roots()
		s.cwd = cmp.Or(s.cwd, roots[0])
		if dirs == nil && offers {
			dirs = roots[1:]
		}
	}
	if s.cwd == "" {
		s.cwd = "."
	}
	if !filepath.IsAbs(s.cwd) && !isWindows(s.cwd) {
		abs, err := filepath.Abs(s.cwd)
		if err != nil {
			return nil, nil, fmt.Errorf("acpclient: the session's directory: %w", err)
		}
		s.cwd = abs
	}
	if s.policy == nil {
		s.policy = new(approval.Policy)
	}
	s.fold.limit = c.config.MaxState
	s.begins = make(chan struct{}, 1)
	s.terminals.session = s
	return s, dirs, nil
}

func isWindows(path string) bool { return workspace.StyleOf(path) == workspace.Windows }

func servers(all []acp.MCPServer) []acp.MCPServer {
	if all == nil {
		return []acp.MCPServer{}
	}
	return all
}

// register makes a session known to the handlers, and applies the updates that arrived before its id did.
func (c *Client) register(s *Session, method string) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrClosed, method)
	}
	if c.sessions[s.id] != nil {
		c.mu.Unlock()
		return &ProtocolError{Method: method, Problem: "there is an open session with this id"}
	}
	s.mu.Lock()
	c.sessions[s.id] = s
	early := c.early[s.id]
	delete(c.early, s.id)
	c.mu.Unlock()
	for _, u := range early {
		s.applyLocked(u)
	}
	s.mu.Unlock()
	if c.ctx.Err() != nil { // the connection ended meanwhile
		s.end(nil)
	}
	return nil
}

// opened ends a call of session/new. Updates that belong to no session are a problem.
func (c *Client) opened() {
	c.mu.Lock()
	c.opening--
	lost := 0
	if c.opening == 0 {
		lost = len(c.early)
		clear(c.early)
		c.earlies, c.earlyLen = 0, 0
	}
	c.mu.Unlock()
	if lost > 0 {
		c.problem(acp.MethodSessionUpdate, "updates of an unknown session")
	}
}

func (c *Client) forget(s *Session) {
	c.mu.Lock()
	if c.sessions[s.id] == s {
		delete(c.sessions, s.id)
	}
	c.mu.Unlock()
	s.end(nil)
}

func (c *Client) session(id acp.SessionID) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// ID returns the session's id, for [Client.LoadSession].
func (s *Session) ID() acp.SessionID { return s.id }

// Client returns the client that the session belongs to.
func (s *Session) Client() *Client { return s.client }

// Cwd returns the session's directory.
func (s *Session) Cwd() string { return s.cwd }

// Workspace returns the workspace that is served to the agent, or nil.
func (s *Session) Workspace() workspace.Workspace { return s.workspace }

// Snapshot returns what the session shows now.
func (s *Session) Snapshot() *view.Snapshot { return s.fold.view.Snapshot() }

// Cursor follows what the session shows: all of it if known is nil, otherwise the changes since that
// snapshot. It ends when the session is closed or the connection ends.
func (s *Session) Cursor(known *view.Snapshot) *view.Cursor {
	return s.fold.view.Cursor(known)
}

// SetMode sets the mode, to a choice of the option "mode" of [Session.Options].
func (s *Session) SetMode(ctx context.Context, mode acp.SessionModeID) error {
	s.mu.Lock()
	modes := s.fold.modes
	s.mu.Unlock()
	if modes == nil {
		return s.client.unsupported("modes")
	}
	if !modes.has(string(mode)) {
		return s.client.unsupported(fmt.Sprintf("the mode %q (it has %s)", mode, modes.list()))
	}
	if _, err := s.client.conn.SetSessionMode(ctx, &acp.SetSessionModeRequest{SessionID: s.id, ModeID: mode}); err != nil {
		return s.client.failed(ctx, acp.MethodSetSessionMode, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold.setMode(mode)
	return nil
}

// SetOption sets an option of [Session.Options] to one of its values, or a switch to "true" or "false".
func (s *Session) SetOption(ctx context.Context, id acp.SessionConfigID, value string) error {
	s.mu.Lock()
	option := s.fold.option(string(id))
	s.mu.Unlock()
	if option == nil {
		return s.client.unsupported(fmt.Sprintf("the option %q", id))
	}
	req := &acp.SetSessionConfigOptionRequest{SessionID: s.id, ConfigID: id}
	switch {
	case option.Switch && (value == "true" || value == "false"):
		req.Boolean = &acp.SetSessionConfigOptionRequestBoolean{Value: value == "true"}
	case !option.Switch && option.has(value):
		req.ValueID = &acp.SetSessionConfigOptionRequestValueID{Value: acp.SessionConfigValueID(value)}
	default:
		return s.client.unsupported(fmt.Sprintf("the value %q of the option %q (it has %s)", value, id, option.list()))
	}
	resp, err := s.client.conn.SetSessionConfigOption(ctx, req)
	if err != nil {
		return s.client.failed(ctx, acp.MethodSetSessionConfigOption, err)
	}
	s.options(nil, resp.ConfigOptions)
	return nil
}

// Options returns the agent's options, including the mode if the agent has modes.
func (s *Session) Options() []view.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold.settings()
}

func (s *Session) options(modes *acp.SessionModeState, options []acp.SessionConfigOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fold.setOptions(modes, options)
}

// values are the values of an option.
type values view.Setting

func (v *values) has(id string) bool {
	for i := range v.Choices {
		if v.Choices[i].ID == id {
			return true
		}
	}
	return false
}

func (v *values) list() string {
	if v.Switch {
		return "true, false"
	}
	ids := make([]string, len(v.Choices))
	for i := range v.Choices {
		ids[i] = v.Choices[i].ID
	}
	return strings.Join(ids, ", ")
}
