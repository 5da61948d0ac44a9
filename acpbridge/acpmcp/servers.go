// SPDX-License-Identifier: Apache-2.0

package acpmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// closeTime bounds how long the end of a session waits for its servers.
const closeTime = 500 * time.Millisecond

// Config configures the use of servers.
type Config struct {
	// Base has what all servers have in common. Its Name, Transport and OnChange are not used. If
	// Wait is 0, it is 5 s: the budget of time within which the first turn waits.
	Base mcptoolset.Config
	// Max is the number of servers that are used of those that a client names, 50 by default.
	Max int
	// Servers are available in each session, in addition to the client's. One with the name of a
	// server of the client is left out, unless it is in use: then the client's gets another name.
	// Programs are started in the session's directory, unless they have another.
	Servers []mcptoolset.ServerConfig
}

// Servers holds the servers of all sessions. It implements acpbridge.MCPServers.
type Servers struct {
	config *Config

	mu       sync.Mutex
	sessions map[acp.SessionID]*session
}

// New returns servers for [Toolset] and for acpbridge.Options.
func New(config Config) *Servers {
	config.Base.Wait = cmp.Or(config.Base.Wait, 5*time.Second)
	config.Base.Eager, config.Base.OnChange = true, nil
	config.Max = cmp.Or(max(config.Max, 0), 50)
	return &Servers{config: &config, sessions: map[acp.SessionID]*session{}}
}

// session has the servers of one session, of all who have it open.
type session struct {
	openers int // guarded by the mu of the servers

	mu      sync.Mutex
	servers []*mcptoolset.Server
	hosted  []*hosted // those of servers that a client hosts
	begun   time.Time
	own     bool            // the program's servers are among them
	taken   map[string]bool // their names
	named   map[string]int  // how often a server was named, as JSON
	// told has what the user was told about each server last. refused has what is wrong with
	// servers that could not be made.
	told    map[string]string
	refused []string
	// sets has the toolsets that were made of the servers, by who asked for them.
	sets map[any]any
}

// Capabilities implements acpbridge.MCPServers.
func (*Servers) Capabilities() acp.MCPCapabilities { return acp.MCPCapabilities{HTTP: true, SSE: true} }

// Open implements acpbridge.MCPServers. A session that is open more than once has the servers of
// all who have opened it.
func (s *Servers) Open(info *deps.Session, servers []acp.MCPServer) { s.OpenHosted(nil, info, servers) }

// OpenHosted implements acpbridge.HostedMCPServers.
func (s *Servers) OpenHosted(client unstable.Peer, info *deps.Session, servers []acp.MCPServer) {
	s.mu.Lock()
	in := s.sessions[info.ID]
	if in == nil {
		in = &session{
			told: map[string]string{}, sets: map[any]any{}, taken: map[string]bool{},
			named: map[string]int{},
		}
		s.sessions[info.ID] = in
	}
	in.openers++
	s.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	before := maps.Clone(in.named)
	for i := range servers {
		if i == s.config.Max {
			in.refuse("Only the first %d MCP servers are used.", s.config.Max)
			break
		}
		in.name(s.config, client, &servers[i], info.Cwd, before)
	}
	if !in.own {
		in.own = true
		in.program(s.config, info.Cwd)
	}
}

// name adds a server that a client names, unless it was named before.
func (in *session) name(c *Config, client unstable.Peer, m *acp.MCPServer, cwd string, before map[string]int) {
	text, _ := json.Marshal(m)
	key := string(text)
	if m.Unknown != nil { // it may be one that this client hosts
		key = fmt.Sprintf("%p %s", client, text)
	}
	if before[key] > 0 {
		before[key]--
		return
	}
	in.named[key]++
	name, transport := in.transport(client, m, cwd)
	name = mcptoolset.ServerName(name)
	for n, plain := 2, name; in.taken[name]; n++ {
		name = mcptoolset.ServerName(fmt.Sprintf("%.28s_%d", plain, n))
	}
	if transport == nil {
		in.taken[name] = true
		in.refuse("The MCP server %q cannot be used: its kind is unknown.", name)
		return
	}
	in.add(c, name, transport)
}

// program adds the program's servers.
func (in *session) program(c *Config, cwd string) {
	for i := range c.Servers {
		own := &c.Servers[i]
		if in.taken[own.Name] || own.Disabled {
			continue
		}
		transport := own.Transport
		if command, ok := transport.(mcptoolset.Command); ok && command.Dir == "" {
			command.Dir = cwd
			transport = command
		}
		in.add(c, own.Name, transport)
	}
}

func (in *session) refuse(format string, args ...any) {
	in.refused = append(in.refused, fmt.Sprintf(format, args...))
}

// add begins to connect to a server.
func (in *session) add(c *Config, name string, transport mcptoolset.Transport) {
	in.taken[name] = true
	config := c.Base
	config.Name, config.Transport = name, transport
	server, err := mcptoolset.New(config)
	if err != nil {
		in.refuse("The MCP server %q cannot be used: %v", name, err)
		return
	}
	in.servers, in.begun = append(in.servers, server), time.Now()
	clear(in.sets)
}

// Message implements acpbridge.HostedMCPServers.
func (s *Servers) Message(ctx context.Context, client unstable.Peer, n *unstable.MessageMCPNotification) {
	s.mu.Lock()
	var to []*hosted
	for _, in := range s.sessions {
		in.mu.Lock()
		for _, h := range in.hosted {
			if h.peer == client && h.id == n.ServerID {
				to = append(to, h)
			}
		}
		in.mu.Unlock()
	}
	s.mu.Unlock()
	for _, h := range to {
		h.notify(ctx, n)
	}
}

// transport returns the name and the transport of a server.
func (in *session) transport(client unstable.Peer, m *acp.MCPServer, cwd string) (string, mcptoolset.Transport) {
	headers := func(list []acp.HTTPHeader) map[string]string {
		all := make(map[string]string, len(list))
		for _, h := range list {
			all[h.Name] = h.Value
		}
		return all
	}
	switch {
	case m.Stdio != nil:
		c := mcptoolset.Command{Path: m.Stdio.Command, Args: m.Stdio.Args, Dir: cwd}
		for _, v := range m.Stdio.Env {
			c.Env = append(c.Env, v.Name+"="+v.Value)
		}
		return m.Stdio.Name, c
	case m.HTTP != nil:
		return m.HTTP.Name, mcptoolset.HTTP{URL: m.HTTP.URL, Headers: headers(m.HTTP.Headers)}
	case m.SSE != nil:
		return m.SSE.Name, mcptoolset.SSE{URL: m.SSE.URL, Headers: headers(m.SSE.Headers)}
	}
	if more, err := unstable.ServerOf(m); client != nil && err == nil && more.ACP != nil {
		h := &hosted{peer: client, id: more.ACP.ServerID}
		in.hosted = append(in.hosted, h)
		return more.ACP.Name, mcptoolset.Func(func(context.Context) (mcp.Transport, error) { return h, nil })
	}
	return "unknown", nil
}

// Close implements acpbridge.MCPServers. It undoes one Open; the last one ends the servers.
func (s *Servers) Close(id acp.SessionID) {
	s.mu.Lock()
	in := s.sessions[id]
	if in == nil {
		s.mu.Unlock()
		return
	}
	in.openers--
	last := in.openers <= 0
	if last {
		delete(s.sessions, id)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	in.mu.Lock()
	servers := in.servers
	in.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = mcptoolset.Close(servers...)
	}()
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C: // they are killed soon, or end with this program
	}
}

func (s *Servers) session(id acp.SessionID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// News implements acpbridge.MCPServers.
func (s *Servers) News(id acp.SessionID) []string {
	in := s.session(id)
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	news := in.refused
	in.refused = nil
	for _, server := range in.servers {
		now := s.state(in, server)
		if before := in.told[server.Name()]; now != before {
			in.told[server.Name()] = now
			if now == "" {
				now = fmt.Sprintf("The MCP server %q is available now.", server.Name())
			}
			news = append(news, now)
		}
	}
	return news
}

// state describes a problem of a server.
func (s *Servers) state(in *session, server *mcptoolset.Server) string {
	st := server.Status()
	switch {
	case st.State == mcptoolset.StateReady && len(st.Problems) > 0:
		return fmt.Sprintf("%d tools of the MCP server %q cannot be offered as they are. The first one: %v", len(st.Problems), server.Name(), st.Problems[0])
	case st.Err != nil && !errors.Is(st.Err, mcptoolset.ErrClosed):
		return fmt.Sprintf("The MCP server %q is not available: %v", server.Name(), st.Err)
	case st.State == mcptoolset.StateConnecting && time.Since(in.begun) >= s.config.Base.Wait:
		return fmt.Sprintf("The MCP server %q has not answered yet.", server.Name())
	}
	return ""
}

// Toolset returns the tools of the servers of a run's session. A run without a session, or whose
// session has no servers, has none.
func Toolset[D deps.Carrier](servers *Servers, options mcptoolset.Options[D]) toolset.Toolset[D] {
	return &tools[D]{servers: servers, options: options}
}

type tools[D deps.Carrier] struct {
	servers *Servers
	options mcptoolset.Options[D]
}

// Name implements [toolset.Toolset].
func (*tools[D]) Name() string { return "acpmcp" }

// Check implements [toolset.Checker].
func (t *tools[D]) Check() error {
	if t.servers == nil {
		return errors.New("acpmcp: Toolset: the servers are nil")
	}
	return nil
}

// Open implements [toolset.Toolset].
func (t *tools[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	var in *session
	if info := run.Deps.ACP().Session; info != nil {
		in = t.servers.session(info.ID)
	}
	if in == nil {
		return toolset.Of[D]().Open(ctx, run)
	}
	in.mu.Lock()
	set, ok := in.sets[t].(toolset.Toolset[D])
	if !ok {
		set = mcptoolset.All(in.servers, t.options)
		in.sets[t] = set
	}
	in.mu.Unlock()
	return set.Open(ctx, run)
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (s *Servers) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "acpmcp.Servers") }
