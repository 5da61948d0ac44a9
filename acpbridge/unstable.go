// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// unstableAgent handles the methods of the protocol that are not stable, for [Options].Unstable.
type unstableAgent struct {
	unstable.UnsupportedAgent
	server *server
}

// unstableMethods lists the methods of unstableAgent. They need a store.
var unstableMethods = []string{
	unstable.MethodForkSession, unstable.MethodArchiveSession, unstable.MethodUnarchiveSession, unstable.MethodSetSessionTitle, unstable.MethodSessionStatus,
}

// extendUnstable has a connection with these options handle the methods that are not stable, before
// what the options handle already.
func (s *server) extendUnstable(opts *acp.ConnOptions) {
	if !s.unstable {
		return
	}
	var own acp.ConnOptions
	unstable.ServeAgent(&own, &unstableAgent{server: s})
	method, notification := opts.ExtMethod, opts.ExtNotification
	opts.ExtMethod = func(ctx context.Context, name string, params json.RawMessage) (json.RawMessage, error) {
		if s.stored && slices.Contains(unstableMethods, name) {
			return own.ExtMethod(ctx, name, params)
		}
		return method(ctx, name, params)
	}
	opts.ExtNotification = func(ctx context.Context, name string, params json.RawMessage) error {
		if name == unstable.MethodMessageMCP {
			if err := own.ExtNotification(ctx, name, params); err != nil {
				return err
			}
		}
		if notification == nil {
			return nil
		}
		return notification(ctx, name, params)
	}
}

// clientUpdates are the updates that are not stable and that a client takes.
type clientUpdates struct{ subagents, plans bool }

// options returns what a client takes. here is set if commands run on this machine.
func (t clientUpdates) options(can acp.ClientCapabilities) acpview.Options {
	o := acpview.Options{Plans: t.plans, Subagents: t.subagents}
	if takes := can.Session; takes != nil {
		o.Notices, o.Compactions = takes.Notices != nil, takes.Compaction != nil
	}
	return o
}

// initializeUnstable reads what a client can do that is not stable, and announces what the agent
// can.
func (s *server) initializeUnstable(ctx context.Context) error {
	if !s.unstable {
		return nil
	}
	var takes clientUpdates
	if more, err := unstable.Params[unstable.InitializeRequest](ctx); err == nil && more.ClientCapabilities != nil { // else it is of another form
		takes = clientUpdates{more.ClientCapabilities.Subagents != nil, more.ClientCapabilities.Plan != nil}
	}
	s.mu.Lock()
	s.takes = takes
	s.mu.Unlock()
	can := &unstable.AgentCapabilities{}
	if s.stored {
		can.SessionCapabilities = &unstable.SessionCapabilities{
			Fork: &unstable.SessionForkCapabilities{}, Archive: &unstable.SessionArchiveCapabilities{}, Status: &unstable.SessionStatusCapabilities{},
			Title: &unstable.SessionTitleCapabilities{},
		}
	}
	if hosted, _ := s.hostedServers(); hosted != nil {
		can.MCPCapabilities = &unstable.MCPCapabilities{ACP: true}
	}
	return unstable.ExtendAnswer(ctx, unstable.InitializeResponse{AgentCapabilities: can})
}

// ForkSession implements [unstable.Agent].
func (a *unstableAgent) ForkSession(ctx context.Context, p *unstable.ForkSessionRequest) (*unstable.ForkSessionResponse, error) {
	acp.Async(ctx)
	s := a.server
	if err := checkDirectories(p.Cwd, p.AdditionalDirectories); err != nil {
		return nil, err
	}
	if p.SystemPrompt != nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: systemPrompt is not supported").WithData(errorData{Kind: KindSession})
	}
	if err := s.checkAuth(ctx); err != nil {
		return nil, err
	}
	const what = "the session cannot be forked"
	n := description("", p.Cwd, p.AdditionalDirectories)
	if n.Values == nil { // of the parent, which are not asked for
		n.Values = map[string]json.RawMessage{host.DirectoriesValue: nil}
	}
	info, err := s.host.Fork(ctx, string(p.SessionID), "", n)
	switch {
	case errors.Is(err, host.ErrBusy):
		return nil, busySession(p.SessionID)
	case err != nil:
		return nil, s.notReopened(what, p.SessionID, err)
	}
	made := s.makeSession(acp.SessionID(info.ID), p.Cwd, p.AdditionalDirectories)
	if made.hosted, err = s.host.Open(ctx, info.ID, made); err != nil {
		err = s.notOpened(what, p.SessionID, err)
		if gone := s.host.Delete(context.WithoutCancel(ctx), info.ID); gone != nil {
			s.logError("the fork is left", made.id, gone)
		}
		return nil, err
	}
	if err := s.opened(ctx, made, p.MCPServers); err != nil {
		return nil, err
	}
	s.log.Info("acpbridge: session forked", "session", p.SessionID, "fork", made.id)
	resp := &unstable.ForkSessionResponse{SessionID: made.id}
	resp.Modes, resp.ConfigOptions = made.offered()
	return resp, nil
}

// ArchiveSession implements [unstable.Agent]. A session that is open is closed as by session/close.
func (a *unstableAgent) ArchiveSession(ctx context.Context, p *unstable.ArchiveSessionRequest) (*unstable.ArchiveSessionResponse, error) {
	s := a.server
	session := s.take(p.SessionID)
	acp.Async(ctx)
	bounded, cancel := context.WithTimeout(ctx, s.shutdown)
	defer cancel()
	err := s.host.SetArchived(bounded, string(p.SessionID), true)
	if session != nil {
		s.close(ctx, session)
	}
	if err != nil {
		return nil, s.notReopened("the session cannot be archived", p.SessionID, err)
	}
	return nil, nil
}

// UnarchiveSession implements [unstable.Agent].
func (a *unstableAgent) UnarchiveSession(ctx context.Context, p *unstable.UnarchiveSessionRequest) (*unstable.UnarchiveSessionResponse, error) {
	acp.Async(ctx)
	if err := a.server.host.SetArchived(ctx, string(p.SessionID), false); err != nil {
		return nil, a.server.notReopened("the session cannot be unarchived", p.SessionID, err)
	}
	return nil, nil
}

// maxTitle bounds the title that a person sets, in characters.
const maxTitle = 200

// SetSessionTitle implements [unstable.Agent].
func (a *unstableAgent) SetSessionTitle(ctx context.Context, p *unstable.SetSessionTitleRequest) (*unstable.SetSessionTitleResponse, error) {
	acp.Async(ctx)
	title := strings.Join(strings.Fields(p.Title), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	if title = show.Line(title); title == "" {
		return nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: the title is empty").WithData(errorData{Kind: KindSession, SessionID: p.SessionID})
	}
	if err := a.server.host.SetTitle(ctx, string(p.SessionID), title); err != nil {
		return nil, a.server.notReopened("the title cannot be set", p.SessionID, err)
	}
	return &unstable.SetSessionTitleResponse{Title: title}, nil
}

// SessionStatus implements [unstable.Agent]. A session that another process has is open, too.
func (a *unstableAgent) SessionStatus(ctx context.Context, p *unstable.SessionStatusRequest) (*unstable.SessionStatusResponse, error) {
	acp.Async(ctx)
	s := a.server
	if s.host.Session(string(p.SessionID)) != nil {
		return &unstable.SessionStatusResponse{Status: unstable.SessionStatusOpen}, nil
	}
	info, err := s.host.Store().Get(ctx, string(p.SessionID))
	switch {
	case err != nil:
		return nil, s.notReopened("the status is not known", p.SessionID, err)
	case info.Holder != "":
		return &unstable.SessionStatusResponse{Status: unstable.SessionStatusOpen}, nil
	}
	return &unstable.SessionStatusResponse{Status: unstable.SessionStatusSaved}, nil
}

// listed returns the page of a list. Sessions that are archived are in it if they are asked for.
func (s *server) listed(ctx context.Context, q sessions.Query) (sessions.Page, error) {
	filter := unstable.SessionArchiveFilterInclude
	if s.unstable {
		more, err := unstable.Params[unstable.ListSessionsRequest](ctx)
		if err != nil {
			return sessions.Page{}, err
		}
		if filter = more.Archived; filter == "" {
			filter = unstable.SessionArchiveFilterExclude
		}
	}
	switch filter {
	case unstable.SessionArchiveFilterInclude:
		return s.host.List(ctx, q)
	case unstable.SessionArchiveFilterExclude, unstable.SessionArchiveFilterOnly:
	default:
		return sessions.Page{}, acp.Errorf(acp.CodeInvalidParams, "invalid params: archived is %q: use exclude, include or only", oneLine(string(filter))).
			WithData(errorData{Kind: KindSession})
	}
	return s.host.List(ctx, q, func(i *sessions.Info) bool { return host.Archived(i) == (filter == unstable.SessionArchiveFilterOnly) })
}

// tellArchived adds to the answer which sessions of a page are archived.
func (s *server) tellArchived(ctx context.Context, page *sessions.Page) error {
	if !s.unstable || !slices.ContainsFunc(page.Sessions, func(i sessions.Info) bool { return host.Archived(&i) }) {
		return nil
	}
	more := make([]unstable.SessionInfo, len(page.Sessions))
	for i := range page.Sessions {
		if host.Archived(&page.Sessions[i]) {
			more[i].Archived = new(true)
		}
	}
	return unstable.ExtendAnswer(ctx, unstable.ListSessionsResponse{Sessions: more})
}

// tellUsage adds to the answer to a prompt what its turn has used.
func (s *server) tellUsage(ctx context.Context, used *toolset.Usage) {
	if s.unstable && used != nil {
		_ = unstable.ExtendAnswer(ctx, unstable.PromptResponse{Usage: turnUsage(used)}) // numbers have a JSON form
	}
}

// turnUsage is the usage of a turn.
func turnUsage(u *toolset.Usage) *unstable.Usage {
	count := func(n int64) uint64 { return uint64(max(n, 0)) }
	part := func(n int64) *uint64 {
		if n <= 0 {
			return nil
		}
		return new(count(n))
	}
	return &unstable.Usage{
		TotalTokens: count(u.TotalTokens()), InputTokens: count(u.InputTokens), OutputTokens: count(u.OutputTokens),
		ThoughtTokens: part(u.ReasoningTokens), CachedReadTokens: part(u.CacheReadTokens), CachedWriteTokens: part(u.CacheWriteTokens),
	}
}
