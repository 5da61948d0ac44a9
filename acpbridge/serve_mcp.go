// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// MCPServers connects to the MCP servers that clients name when a session begins. Package acpmcp
// implements it. Programs without MCP servers links nothing of them. Its methods may be called from
// several goroutines.
type MCPServers interface {
	// Capabilities returns the transports other than standard input and output. Clients are told in
	// initialize.
	Capabilities() acp.MCPCapabilities
	// Open begins to connect to the servers of a session. It returns at once. It is called once for
	// each client that has the session open, and for this machine: see [LocalFallback].
	Open(session *deps.Session, servers []acp.MCPServer)
	// News returns what the user should be told about the session's servers, a line each. It tells
	// everything once. It is called at the beginning and at the end of each turn.
	News(id acp.SessionID) []string
	// Close undoes one Open, after the client's last turn in the session. The last one ends the
	// servers.
	Close(id acp.SessionID)
}

// HostedMCPServers is implemented by [MCPServers] that can use servers hosted by the client itself.
// Their messages are sent over the connection with the client, as mcp/message, which is not stable.
// It is used with [Options].Unstable.
type HostedMCPServers interface {
	MCPServers
	// OpenHosted replaces Open for a session whose client hosts servers.
	OpenHosted(client unstable.Peer, session *deps.Session, servers []acp.MCPServer)
	// Message takes what a server that the client hosts has to say about a request in progress.
	Message(ctx context.Context, client unstable.Peer, n *unstable.MessageMCPNotification)
}

// hostedServers returns what uses servers that the client hosts, and the connection with the
// client, or nil.
func (s *server) hostedServers() (HostedMCPServers, unstable.Peer) {
	all, ok := s.mcp.(HostedMCPServers)
	conn, connected := s.client.(unstable.Peer)
	if !ok || !connected || !s.unstable {
		return nil, nil
	}
	return all, conn
}

// MessageMCP implements [unstable.Agent].
func (a *unstableAgent) MessageMCP(ctx context.Context, n *unstable.MessageMCPNotification) error {
	if all, client := a.server.hostedServers(); all != nil {
		all.Message(ctx, client, n)
	}
	return nil
}

// openServers begins to connect to the servers of a session.
func (s *server) openServers(session *session, servers []acp.MCPServer) {
	session.named(servers)
	session.serving.Store(true)
	hosted, client := s.hostedServers()
	switch {
	case hosted != nil:
		hosted.OpenHosted(client, session.info, servers)
	case s.mcp != nil:
		s.mcp.Open(session.info, servers)
	default:
		s.warnAboutServers(session.id, servers)
	}
}

// reopenServers connects to the servers that a client names for a session that is open, if they are
// others than before. No turn is running.
func (s *server) reopenServers(session *session, servers []acp.MCPServer) {
	if session.named(servers) {
		s.closeServers(session)
		s.openServers(session, servers)
	}
}

// named notes which servers a client has named, and reports whether they are others than before.
func (s *session) named(servers []acp.MCPServer) (others bool) {
	names, err := json.Marshal(append([]acp.MCPServer{}, servers...))
	s.mu.Lock()
	defer s.mu.Unlock()
	others = err != nil || !bytes.Equal(names, s.servers)
	s.servers = names
	return others
}

// closeServers ends the servers of a session, if they have been opened.
func (s *server) closeServers(session *session) {
	if session.serving.Swap(false) && s.mcp != nil {
		s.mcp.Close(session.id)
	}
}

// tellNews tells the user what is new about the session's servers.
func (s *server) tellNews(r *teller, turn *host.Turn) {
	if s.mcp == nil || r.ctx.Err() != nil {
		return
	}
	news := s.mcp.News(r.session.id)
	if len(news) > 0 {
		s.tell(r, turn, news...)
	}
}

// tell tells the user something in notices, or in a message if the client has none.
func (s *server) tell(r *teller, turn *host.Turn, lines ...string) {
	if r.session.takes.Notices {
		for _, line := range lines {
			turn.Notice("warning", oneLine(line))
		}
		return
	}
	turn.Say(strings.Join(lines, "\n\n"))
}
