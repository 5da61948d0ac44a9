// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/otelagent"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// featuresMain is an agent that does what the sample does not. The first word of a prompt says what: it is the name of a tool, whose
// result the agent repeats.
// With the argument "login" somebody has to log in first. With "hosted" its sessions last, and it has all that sessions can show: see hosted.
func featuresMain(args []string) int {
	config := featuresConfig()
	if slices.Contains(args, "login") {
		config.Auth = &needsLogin{}
	}
	if slices.Contains(args, "hosted") {
		config = hosted()
	}
	if slices.Contains(args, "unstable") {
		unstable.ServeAgent(&config.Conn, forker{})
	}
	err := acpbridge.Serve(context.Background(), config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// needsLogin is open after a login, until the logout.
type needsLogin struct{ open atomic.Bool }

func (l *needsLogin) Methods() []acp.AuthMethod {
	return []acp.AuthMethod{
		{Agent: &acp.AuthMethodAgent{ID: "key", Name: "Stored key", Description: new("It is there.")}},
		{Terminal: &acp.AuthMethodTerminal{ID: "tty", Name: "Terminal", Args: []string{"login"}, Env: map[string]string{"A": "b"}}},
	}
}

func (l *needsLogin) Check(context.Context) error {
	if !l.open.Load() {
		return errors.New("nobody has logged in")
	}
	return nil
}

func (l *needsLogin) Authenticate(context.Context, acp.AuthMethodID) error {
	l.open.Store(true)
	return nil
}

func (l *needsLogin) Logout(context.Context) error {
	l.open.Store(false)
	return nil
}

// forker does what is not stable.
type forker struct{ unstable.UnsupportedAgent }

func (forker) ForkSession(_ context.Context, p *unstable.ForkSessionRequest) (*unstable.ForkSessionResponse, error) {
	return &unstable.ForkSessionResponse{SessionID: p.SessionID + "-fork", ConfigOptions: []acp.SessionConfigOption{}}, nil
}

func (forker) ArchiveSession(context.Context, *unstable.ArchiveSessionRequest) (*unstable.ArchiveSessionResponse, error) {
	return nil, nil
}

func (forker) UnarchiveSession(context.Context, *unstable.UnarchiveSessionRequest) (*unstable.UnarchiveSessionResponse, error) {
	return nil, nil
}

func (forker) SetSessionTitle(_ context.Context, p *unstable.SetSessionTitleRequest) (*unstable.SetSessionTitleResponse, error) {
	return &unstable.SetSessionTitleResponse{Title: p.Title}, nil
}

func (forker) SessionStatus(context.Context, *unstable.SessionStatusRequest) (*unstable.SessionStatusResponse, error) {
	return &unstable.SessionStatusResponse{Status: unstable.SessionStatusOpen}, nil
}

func (forker) AuthStatus(context.Context, *unstable.AuthStatusRequest) (*unstable.AuthStatusResponse, error) {
	return &unstable.AuthStatusResponse{State: unstable.AuthStateNotRequired, Accounts: []unstable.AuthAccount{{Label: "me", Active: new(true)}}}, nil
}

func (forker) ListProviders(context.Context, *unstable.ListProvidersRequest) (*unstable.ListProvidersResponse, error) {
	return &unstable.ListProvidersResponse{Providers: []unstable.ProviderInfo{{
		ProviderID: "p", Supported: []unstable.LLMProtocol{unstable.LLMProtocolOpenai},
		Current: &unstable.ProviderCurrentConfig{APIType: unstable.LLMProtocolOpenai, BaseURL: "https://example.com"},
	}}}, nil
}

// updates are the updates that are not stable, one of each kind.
func updates(id acp.SessionID) []unstable.SessionUpdate {
	entry := acp.PlanEntry{Content: "do it", Priority: acp.PlanEntryPriorityHigh, Status: acp.PlanEntryStatusPending}
	plan := func(c unstable.PlanUpdateContent) unstable.SessionUpdate {
		return unstable.SessionUpdate{PlanUpdate: &unstable.PlanUpdate{Plan: c}}
	}
	subagent := func(s unstable.StateUpdate) unstable.SessionUpdate {
		return unstable.SessionUpdate{SubagentUpdate: &unstable.SubagentUpdate{SessionID: "sub", Title: new("Sub"), State: &s}}
	}
	return []unstable.SessionUpdate{
		plan(unstable.PlanUpdateContent{Items: &unstable.PlanItems{PlanID: "1", Entries: []acp.PlanEntry{entry}}}),
		plan(unstable.PlanUpdateContent{File: &unstable.PlanFile{PlanID: "2", URI: "file:///plan.md"}}),
		plan(unstable.PlanUpdateContent{Markdown: &unstable.PlanMarkdown{PlanID: "3", Content: "# Plan"}}),
		{PlanRemoved: &unstable.PlanRemoved{PlanID: "1"}},
		subagent(unstable.StateUpdate{Running: &unstable.RunningStateUpdate{}}),
		subagent(unstable.StateUpdate{RequiresAction: &unstable.RequiresActionStateUpdate{}}),
		subagent(unstable.StateUpdate{Idle: &unstable.IdleStateUpdate{StopReason: new("error"), Error: &unstable.MCPError{Code: -32603, Message: "no"}, Usage: &unstable.Usage{TotalTokens: 3, InputTokens: 2, OutputTokens: 1}}}),
		{SessionMessage: &unstable.SessionMessage{MessageID: "m", SenderSessionID: id, RecipientSessionID: "sub", Content: []acp.ContentBlock{acp.TextBlock("go")}}},
		{SessionMessageChunk: &unstable.SessionMessageChunk{MessageID: "m", Content: acp.TextBlock(" on")}},
	}
}

// stable are the stable updates, one of each kind that the client takes.
func stable(takes acp.ClientCapabilities) []acp.SessionUpdate {
	chunk := func(text string) *acp.ContentChunk { return &acp.ContentChunk{Content: acp.TextBlock(text)} }
	entry := acp.PlanEntry{Content: "do it", Priority: acp.PlanEntryPriorityHigh, Status: acp.PlanEntryStatusPending}
	mode := acp.SessionConfigOption{ID: "mode", Name: "Mode", Select: &acp.SessionConfigSelect{
		CurrentValue: "ask", Options: acp.SessionConfigSelectOptions{Ungrouped: []acp.SessionConfigSelectOption{{Value: "ask", Name: "Ask"}}},
	}}
	all := []acp.SessionUpdate{
		{AgentMessageChunk: chunk("answered")}, {AgentThoughtChunk: chunk("thought")},
		{ToolCall: &acp.ToolCall{ToolCallID: "extra", Title: "Extra", Kind: acp.ToolKindThink, Status: acp.ToolCallStatusPending}},
		{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "extra", Status: acp.ToolCallStatusCompleted}},
		{Plan: &acp.Plan{Entries: []acp.PlanEntry{entry}}},
		{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "help", Description: "Help."}}}},
		{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "ask"}},
		{ConfigOptionUpdate: &acp.ConfigOptionUpdate{ConfigOptions: []acp.SessionConfigOption{mode}}},
		{SessionInfoUpdate: &acp.SessionInfoUpdate{Title: acp.Replace("A title")}},
		{UsageUpdate: &acp.UsageUpdate{Used: 1, Size: 2}},
	}
	if s := takes.Session; s != nil && s.Notices != nil {
		all = append(all, acp.SessionUpdate{Notice: &acp.Notice{Severity: acp.NoticeSeverityInfo, Title: "Something"}})
	}
	if s := takes.Session; s != nil && s.Compaction != nil {
		all = append(all, acp.SessionUpdate{CompactionUpdate: &acp.CompactionUpdate{CompactionID: "c", Status: acp.CompactionStatusInProgress}},
			acp.SessionUpdate{CompactionSummaryChunk: &acp.CompactionSummaryChunk{CompactionID: "c", Content: acp.TextBlock("in short")}},
			acp.SessionUpdate{CompactionUpdate: &acp.CompactionUpdate{CompactionID: "c", Status: acp.CompactionStatusCompleted}})
	}
	return all
}

// traced has the agent's requests belong to the trace of their prompt.
func traced() acp.ConnOptions {
	return acp.ConnOptions{IncomingMeta: otelagent.JoinTrace, OutgoingMeta: otelagent.TraceMeta}
}

type noArguments struct{}

func featuresConfig() acpbridge.Config[deps.ACPDeps, string] {
	ask := func(name string, q toolset.Question) *toolset.Tool[deps.ACPDeps] {
		return toolset.Func(name, "", func(ctx context.Context, run *toolset.RunContext[deps.ACPDeps], _ noArguments) (string, error) {
			reply, err := run.Ask(ctx, q)
			return string(reply.Action) + " " + string(reply.Content), err
		})
	}
	m := modeltest.Func(func(_ context.Context, r *model.Request) (*model.Message, error) {
		last := r.Messages[len(r.Messages)-1]
		if part := &last.Parts[0]; part.Kind == model.PartToolReturn {
			return model.Response(model.Text(part.Text)), nil
		}
		word, _, _ := strings.Cut(last.Parts[0].Text, " ")
		if word == "show" { // what the model is given
			var b strings.Builder
			for _, p := range last.Parts {
				fmt.Fprintf(&b, "<%s %s %d> ", p.MediaType, p.Text, len(p.Data))
			}
			return model.Response(model.Text(b.String())), nil
		}
		for _, def := range r.Tools {
			if def.Name == word {
				return model.Response(model.ToolCall("1", word, "{}")), nil
			}
		}
		return model.Response(model.Text("no such tool")), nil
	})
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: m, Tools: []*toolset.Tool[deps.ACPDeps]{
		ask("form", toolset.Question{Message: "Where to?", Schema: json.RawMessage(`{
			"title": "Trip", "description": "What we need to know.", "required": ["city", "days"],
			"properties": {
				"city": {"type": "string", "title": "City", "minLength": 2, "maxLength": 40, "pattern": "^[A-Z]", "default": "Oslo"},
				"mail": {"type": "string", "format": "email"},
				"days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 2},
				"budget": {"type": "number", "minimum": 0.5},
				"rain": {"type": "boolean", "default": false},
				"class": {"type": "string", "oneOf": [{"const": "1", "title": "First", "description": "dear"}, {"const": "2", "title": "Second"}]},
				"seat": {"type": "string", "enum": ["window", "aisle"]},
				"meals": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["noon", "night"]}, "default": ["noon"]},
				"bags": {"type": "array", "items": {"anyOf": [{"const": "b", "title": "Bag"}]}}}}`)}),
		ask("choice", toolset.Question{Message: "Which colour?", Schema: json.RawMessage(`{"properties":{"colour":{"type":"string","enum":["red","green"]}}}`)}),
		toolset.Func("updates", "", func(ctx context.Context, run *toolset.RunContext[deps.ACPDeps], _ noArguments) (string, error) {
			for _, u := range updates(run.Deps.Session.ID) {
				stable, err := u.Stable()
				if err == nil {
					err = run.Deps.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: run.Deps.Session.ID, Update: stable})
				}
				if err != nil {
					return "", err
				}
			}
			return "updated", nil
		}),
		toolset.Func("every", "", func(ctx context.Context, run *toolset.RunContext[deps.ACPDeps], _ noArguments) (string, error) {
			for _, u := range stable(run.Deps.Session.Capabilities) {
				if err := run.Deps.Client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: run.Deps.Session.ID, Update: u}); err != nil {
					return "", err
				}
			}
			return "updated", nil
		}),
		ask("visit", toolset.Question{Message: "Log in.", URL: "https://example.com/login", ID: "visit-1"}),
	}})
	if err != nil {
		panic(err)
	}
	return acpbridge.Config[deps.ACPDeps, string]{Host: host.Config[deps.ACPDeps, string]{Agent: a, Logger: slog.New(slog.DiscardHandler), Info: &model.Info{Media: []string{"image"}}}, Options: acpbridge.Options{LinkedFiles: 1000, Conn: traced()}}
}
