// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"encoding/json"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Key implements [host.Place]: a session of an editor has its files and commands there.
func (s *session) Key() string { return "editor:" + s.server }

// ours reports whether the files and commands of the session are in this editor.
func (s *session) ours() bool { return s.hosted.Place() == host.Place(s) }

// DepsOf returns what an agent needs to work in the place of a session: see [host.Session.Place].
// Call it in [host.Config].Deps. It is released together with the dependencies.
//
//   - In an editor, these are the editor's files and terminals. l selects what this machine does
//     for editors that lack them.
//   - On this machine, it is the session's directory, within the limits of l: a browser's sessions
//     get no files without LocalFallback.Files, and no commands without LocalFallback.Commands. The
//     client has no capabilities, and there is no tracker. The servers of LocalFallback.MCP begin
//     with the first turn, and notices tell what is wrong with them.
//
// An error means that the directories of the session cannot be used.
func DepsOf(s *host.Session, l LocalFallback) (deps.ACPDeps, error) {
	given := deps.ACPDeps{Client: nobody{}, Session: infoOf(s)}
	editor, _ := s.Place().(*session)
	if editor != nil {
		given = editor.given()
	}
	if given.Session.Policy == nil {
		given.Session.Policy = s.Policy()
	}
	w, err := NewWorkspace(given, l)
	if err != nil {
		return deps.ACPDeps{}, workspaceError{err}
	}
	a := &awake{hosted: s, workspace: w, work: workspace.NewSession(w)}
	a.work.ContinueAfter(s.Info().Head)
	s.Tie(a)
	given.Workspace = a.work
	if editor != nil {
		editor.mu.Lock()
		defer editor.mu.Unlock()
		editor.awake = a
	} else {
		a.mcp, a.info = l.MCP, given.Session
	}
	return given, nil
}

// nobody is the client of a session without an editor.
type nobody struct{ acp.UnimplementedClient }

// infoOf describes a session without an editor.
func infoOf(s *host.Session) *deps.Session {
	info := s.Info()
	of := &deps.Session{ID: acp.SessionID(info.ID), Cwd: info.Dir}
	_ = json.Unmarshal(info.Values[host.DirectoriesValue], &of.AdditionalDirectories) // it has none, or those that were given
	return of
}

// given returns the editor's side of the dependencies.
func (s *session) given() deps.ACPDeps {
	return deps.ACPDeps{Client: s.client, Session: s.info, Tracker: s.tracker}
}

// made returns the dependencies as the program has made them. Somebody who has joined a session
// asks its own user.
func (s *session) made() deps.ACPDeps {
	d, ok := s.hosted.Deps().(deps.Carrier)
	switch {
	case ok && s.ours():
		return d.ACP()
	case ok:
		joined := s.given()
		joined.Workspace = d.ACP().Workspace
		return joined
	}
	plain := s.given() // the agent's tools need no editor, but its questions do
	info := *plain.Session
	info.Policy = s.hosted.Policy()
	plain.Session = &info
	return plain
}

// SessionOf returns what a client has said about a session. In a session without an editor it has
// the id and the directories.
func SessionOf(s *host.Session) *deps.Session {
	if editor, ok := s.Place().(*session); ok {
		return editor.info
	}
	return infoOf(s)
}

// PromptOf returns the client's request that a prompt comes from, with its _meta, and nil for other
// prompts. It must not be changed.
func PromptOf(p *host.Prompt) *acp.PromptRequest {
	request, _ := p.Meta.(*acp.PromptRequest)
	return request
}
