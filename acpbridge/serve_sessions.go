// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// description is how a session is made in the store.
func description(id acp.SessionID, dir string, more []string) sessions.New {
	n := sessions.New{ID: string(id), Dir: filepath.Clean(dir)}
	if len(more) > 0 {
		if data, err := json.Marshal(more); err == nil {
			n.Values = map[string]json.RawMessage{host.DirectoriesValue: data}
		}
	}
	return n
}

// LoadSession implements [acp.Agent]. Everything that the session shows goes out before the answer.
// The session's next messages, which a client may have written in the same breath, wait for that.
func (s *server) LoadSession(ctx context.Context, p *acp.LoadSessionRequest) (*acp.LoadSessionResponse, error) {
	if !s.stored {
		return s.UnimplementedAgent.LoadSession(ctx, p)
	}
	session, err := s.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers, true)
	if err != nil {
		return nil, err
	}
	resp := &acp.LoadSessionResponse{}
	resp.Modes, resp.ConfigOptions = session.offered()
	return resp, nil
}

// ResumeSession implements [acp.Agent]. The client knows what the session shows.
func (s *server) ResumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (*acp.ResumeSessionResponse, error) {
	if !s.stored {
		return s.UnimplementedAgent.ResumeSession(ctx, p)
	}
	session, err := s.reopen(ctx, p.SessionID, p.Cwd, p.AdditionalDirectories, p.MCPServers, false)
	if err != nil {
		return nil, err
	}
	resp := &acp.ResumeSessionResponse{}
	resp.Modes, resp.ConfigOptions = session.offered()
	return resp, nil
}

// reopen opens a session of the store, or takes one that is open. One that is open in other
// directories is closed and opened anew.
func (s *server) reopen(ctx context.Context, id acp.SessionID, dir string, more []string, servers []acp.MCPServer, replay bool) (*session, error) {
	what := "the session cannot be resumed"
	if replay {
		what = "the session cannot be loaded"
	}
	if err := checkDirectories(dir, more); err != nil {
		return nil, err
	}
	if err := s.checkAuth(ctx); err != nil {
		return nil, err
	}
	if err := s.waitLeft(ctx, id); err != nil {
		return nil, err
	}
	known := s.session(id)
	gone := known != nil && s.host.Session(string(id)) != known.hosted // somebody else has closed or deleted it
	moves := known != nil && !gone && !known.worksIn(dir, more)
	if known != nil && len(known.unfinished()) > 0 {
		return nil, busySession(id)
	}
	if known != nil && !gone && !moves {
		s.reopenServers(known, servers)
		return known, s.replay(ctx, known, replay)
	}
	if !s.beginOpening(id) {
		return nil, busySession(id)
	}
	defer s.endOpening(id)
	made := s.makeSession(id, dir, more)
	if moves { // if that fails, the session stays as it is
		if known.hosted.Shared() {
			return nil, known.elsewhere(known.info.Cwd)
		}
		if err := known.tryDirectories(made); err != nil {
			return nil, s.notReopened(what, id, err)
		}
	}
	if moves || gone {
		if taken := s.take(id); taken != nil && !s.close(ctx, taken) {
			return nil, busySession(id)
		}
	}
	hosted, err := s.host.Open(ctx, string(id), made)
	if moves && errors.Is(err, sessions.ErrNotFound) { // it had no prompt, so it was not kept
		hosted, err = s.host.Create(ctx, description(id, dir, more), made)
	}
	if err != nil {
		return nil, s.notReopened(what, id, err)
	}
	made.hosted = hosted
	if err := made.joins(); err != nil { // nothing of it is shown
		return nil, errors.Join(err, hosted.Leave(ctx, made))
	}
	if err := s.replay(ctx, made, replay); err != nil {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdown)
		defer cancel()
		s.endSession(release, release, made) // which is not known to the server yet
		return nil, err
	}
	if err := s.opened(ctx, made, servers); err != nil {
		return nil, err
	}
	s.log.Info("acpbridge: session continues", "session", id)
	return made, nil
}

// tryDirectories reports what keeps a session from working in other directories.
func (s *session) tryDirectories(made *session) error {
	a := s.waking()
	if a == nil {
		return nil
	}
	w, err := NewWorkspace(deps.ACPDeps{Client: made.client, Session: made.info}, *a.workspace.fallback)
	if err != nil {
		return workspaceError{err}
	}
	return w.Close()
}

// beginOpening reports whether no other request is opening the session.
func (s *server) beginOpening(id acp.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.opening[id]
	s.opening[id] = true
	return !was
}

func (s *server) endOpening(id acp.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opening, id)
}

// joins refuses a session that another surface has open in other directories, because its files are
// not the client's.
func (s *session) joins() error {
	at := SessionOf(s.hosted)
	if at.Cwd == "" || s.worksIn(at.Cwd, at.AdditionalDirectories) {
		return nil
	}
	return s.elsewhere(at.Cwd)
}

func (s *session) elsewhere(dir string) error {
	return acp.Errorf(acp.CodeInvalidRequest, "the session is open elsewhere, in %s: load it with that directory, or close it there first", dir).
		WithData(errorData{Kind: KindBusy, SessionID: s.id})
}

// worksIn reports whether the session has these directories.
func (s *session) worksIn(dir string, more []string) bool {
	return filepath.Clean(s.info.Cwd) == filepath.Clean(dir) && slices.EqualFunc(s.info.AdditionalDirectories, more, func(a, b string) bool {
		return filepath.Clean(a) == filepath.Clean(b)
	})
}

// ListSessions implements [acp.Agent].
func (s *server) ListSessions(ctx context.Context, p *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	if !s.stored {
		return s.UnimplementedAgent.ListSessions(ctx, p)
	}
	acp.Async(ctx)
	var q sessions.Query
	if p.Cwd != nil && *p.Cwd != "" {
		q.Dir = filepath.Clean(*p.Cwd)
	}
	if p.Cursor != nil {
		q.Cursor = *p.Cursor
	}
	page, err := s.listed(ctx, q)
	if errors.Is(err, sessions.ErrInvalid) {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: the cursor was not returned by session/list").WithData(errorData{Kind: KindSession})
	}
	if err != nil {
		return nil, s.failure("the sessions cannot be listed", "", err)
	}
	resp := &acp.ListSessionsResponse{Sessions: make([]acp.SessionInfo, len(page.Sessions))}
	for i := range page.Sessions {
		resp.Sessions[i] = sessionInfo(&page.Sessions[i])
	}
	if page.Next != "" {
		resp.NextCursor = &page.Next
	}
	return resp, s.tellArchived(ctx, &page)
}

func sessionInfo(i *sessions.Info) acp.SessionInfo {
	info := acp.SessionInfo{SessionID: acp.SessionID(i.ID), Cwd: i.Dir, UpdatedAt: new(stamp(i.Updated))}
	if i.Title != "" {
		info.Title = &i.Title
	}
	_ = json.Unmarshal(i.Values[host.DirectoriesValue], &info.AdditionalDirectories) // it has none, or those that were given
	return info
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// DeleteSession implements [acp.Agent]. An open session is closed first. A missing session is not
// an error.
func (s *server) DeleteSession(ctx context.Context, p *acp.DeleteSessionRequest) (*acp.DeleteSessionResponse, error) {
	if !s.stored {
		return s.UnimplementedAgent.DeleteSession(ctx, p)
	}
	if session := s.take(p.SessionID); session != nil {
		acp.Async(ctx)
		if !s.close(ctx, session) {
			return nil, busySession(p.SessionID)
		}
	}
	err := s.host.Delete(ctx, string(p.SessionID))
	switch {
	case errors.Is(err, sessions.ErrNotFound), errors.Is(err, sessions.ErrInvalid):
		return nil, nil
	case err != nil:
		return nil, s.notReopened("the session cannot be deleted", p.SessionID, err)
	}
	return nil, nil
}
