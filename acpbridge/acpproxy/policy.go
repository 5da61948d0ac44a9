// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Request is a request of the agent that a [Policy] decides about. One of Permission, Read, Write
// and Terminal is set.
type Request struct {
	// Session is the session that it belongs to.
	Session acp.SessionID
	// Permission is a question to the person. Its tool call has what earlier updates of the call
	// have said too.
	Permission *acp.RequestPermissionRequest
	// Read and Write are requests for files, and Terminal is one for a command.
	Read     *acp.ReadTextFileRequest
	Write    *acp.WriteTextFileRequest
	Terminal *acp.CreateTerminalRequest
	// Approval describes the request with the details that the agent gave, and the tool names of
	// package approval's rules: "read_file", "write_file" and "run_command" for files and commands,
	// and the agent's own name for the tool of a question.
	Approval toolset.ApprovalRequest
}

// Verdict is the decision of a [Policy] about a request.
type Verdict struct {
	// Verdict is [toolset.VerdictAllow], [toolset.VerdictDeny], or empty, which passes the request
	// on to the editor.
	Verdict toolset.Verdict
	// Reason is sent to the agent when a request for a file or a command is denied. It may be
	// empty.
	Reason string
}

// Policy decides about the agent's questions and its requests for files and commands. It is called
// on the goroutine that carries the agent's messages, in their order, so it must be quick. A panic
// of it denies.
//
//   - A question that is denied is answered with an option that rejects once, or with "cancelled" if there is none.
//   - A question that is allowed is answered with an option that allows once. If the agent offers none, the editor is asked: the proxy
//     never chooses "always".
//   - A request for a file or a command that is denied is answered with an error. An allowed one is passed on to the editor like any other.
//
// The editor never sees a request that was answered. Policies do not see methods that this package
// does not know. Actions of an agent by itself, without asking, does not pass through the proxy.
//
// With a policy, messages of the agent that readers could understand differently do not pass: lines
// that are not a message, batches, requests with a duplicate member, and such requests without an
// id. Line separators within a message that some readers take for its end are written as escapes.
type Policy func(r *Request) Verdict

// Layers returns a policy that consults layers of package approval, as [approval.Layered] does: a
// denial of any layer wins, then the first layer that decides does. Undecided requests, and those
// for which a layer wants a person, are passed to the editor. An error denies.
func Layers(layers ...approval.Layer) Policy {
	asker := approval.Layered(nil, layers...)
	return func(r *Request) Verdict {
		d, err := asker.Approve(context.Background(), r.Approval)
		switch {
		case err != nil:
			return Verdict{Verdict: toolset.VerdictDeny, Reason: "the policy failed"}
		case d.Verdict == toolset.VerdictDefer:
			return Verdict{}
		}
		return Verdict{Verdict: d.Verdict, Reason: d.Reason}
	}
}

// enforcer applies a policy. It is used by one goroutine.
type enforcer struct {
	policy Policy
	calls  calls
}

// separators are what some readers of lines take for the end of one, beside the line feed. In JSON
// they are white space, or within strings.
var separators = strings.NewReplacer("\r", " ", "\u2028", `\u2028`, "\u2029", `\u2029`, "\u0085", `\u0085`)

// enforce applies the policy to a line of the agent. It returns the line to pass on, or nil.
func (p *proxy) enforce(line []byte, h *acp.Header) []byte {
	if body := bytes.TrimRight(line, "\r"); h.Kind != acp.KindInvalid && (bytes.IndexByte(body, '\r') >= 0 || bytes.IndexByte(body, 0xe2) >= 0 || bytes.IndexByte(body, 0xc2) >= 0) {
		if text := separators.Replace(string(body)); text != string(body) {
			line = []byte(text)
			*h = acp.ParseHeader(line)
		}
	}
	switch h.Kind {
	case acp.KindResponse, acp.KindError:
		return line
	case acp.KindInvalid:
		p.problem(fmt.Errorf("acpproxy: a line of the agent does not pass the policy: it is not a message of the protocol"))
		return nil
	case acp.KindNotification:
		switch h.Method {
		case acp.MethodSessionUpdate:
			p.policy.calls.note(h)
		case acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodCreateTerminal:
			p.problem(fmt.Errorf("acpproxy: %s of the agent does not pass the policy: it has no id", h.Method))
			return nil
		}
		return line
	}
	if problem := acp.Ambiguous(line); problem != "" {
		p.problem(fmt.Errorf("acpproxy: a request of the agent does not pass the policy: %s", problem))
		p.answer(p.toAgent, FromClient, h.ID, nil, acp.Errorf(acp.CodeInvalidRequest, "invalid request: %s", problem))
		return nil
	}
	r, err := p.policy.request(h)
	if err != nil {
		p.problem(fmt.Errorf("acpproxy: %s does not pass the policy: %w", h.Method, err))
		p.answer(p.toAgent, FromClient, h.ID, nil, acp.Errorf(acp.CodeInvalidParams, "invalid parameters"))
		return nil
	}
	if r == nil {
		return line
	}
	v := p.policy.decide(r)
	p.config.Log.Info("acp policy", "method", h.Method, "id", h.ID.String(), "verdict", string(v.Verdict))
	return p.obey(line, h, r, v)
}

// obey does what the policy says.
func (p *proxy) obey(line []byte, h *acp.Header, r *Request, v Verdict) []byte {
	answer := func(result any, failure *acp.Error) []byte {
		data, err := acp.Marshal(result)
		if err != nil {
			failure = acp.Errorf(acp.CodeInternal, "the policy's answer cannot be written")
		}
		// The request and its answer are in the recording, although the editor sees neither.
		p.keep(FromAgent, line)
		p.answer(p.toAgent, FromClient, h.ID, data, failure)
		return nil
	}
	switch {
	case v.Verdict == toolset.VerdictAllow && r.Permission != nil:
		if id, ok := option(r.Permission, acp.PermissionOptionKindAllowOnce); ok {
			return answer(selected(id), nil)
		}
		return line
	case v.Verdict == toolset.VerdictAllow, v.Verdict == "", v.Verdict == toolset.VerdictDefer, v.Verdict == approval.VerdictAsk:
		return line
	case r.Permission == nil:
		text := "a policy denies this"
		if v.Reason != "" {
			text += ": " + strings.Join(strings.Fields(v.Reason), " ")
		}
		return answer(nil, acp.Errorf(acp.CodeInvalidRequest, "%s", text))
	}
	if id, ok := option(r.Permission, acp.PermissionOptionKindRejectOnce); ok {
		return answer(selected(id), nil)
	}
	return answer(&acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}}, nil)
}

func selected(id acp.PermissionOptionID) *acp.RequestPermissionResponse {
	return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: id}}}
}

// option returns the option of a kind. Its id must mean nothing else: an agent may give two options
// one id.
func option(r *acp.RequestPermissionRequest, kind acp.PermissionOptionKind) (id acp.PermissionOptionID, ok bool) {
	for i := range r.Options {
		if r.Options[i].Kind == kind && !ok {
			id, ok = r.Options[i].OptionID, true
		}
	}
	for i := range r.Options {
		if o := &r.Options[i]; o.OptionID == id && o.Kind != kind {
			return "", false
		}
	}
	return id, ok
}

func (g *enforcer) decide(r *Request) (v Verdict) {
	defer func() {
		if recover() != nil {
			v = Verdict{Verdict: toolset.VerdictDeny, Reason: "the policy failed"}
		}
	}()
	return g.policy(r)
}

// request decodes a request that the policy is about. It returns nil for others.
func (g *enforcer) request(h *acp.Header) (*Request, error) {
	r := &Request{Session: h.Session, Approval: toolset.ApprovalRequest{Origin: toolset.Origin{RunID: string(h.Session), Path: []string{string(h.Session)}}}}
	a := &r.Approval
	switch h.Method {
	case acp.MethodRequestPermission:
		r.Permission = new(acp.RequestPermissionRequest)
		if err := acp.Unmarshal(h.Params, r.Permission); err != nil {
			return nil, err
		}
		r.Permission.ToolCall = g.calls.merged(h.Session, r.Permission.ToolCall)
		describe(a, &r.Permission.ToolCall)
	case acp.MethodReadTextFile:
		r.Read = new(acp.ReadTextFileRequest)
		if err := acp.Unmarshal(h.Params, r.Read); err != nil {
			return nil, err
		}
		a.Tool, a.Kind, a.Title = workspace.ToolReadFile, toolset.KindRead, "Read "+show.Line(r.Read.Path)
		a.Approval.Title = a.Title
		a.Approval.Effects = []model.Effect{{Kind: model.EffectRead, Path: r.Read.Path}}
	case acp.MethodWriteTextFile:
		r.Write = new(acp.WriteTextFileRequest)
		if err := acp.Unmarshal(h.Params, r.Write); err != nil {
			return nil, err
		}
		a.Tool, a.Kind, a.Title = workspace.ToolWriteFile, toolset.KindEdit, "Write "+show.Line(r.Write.Path)
		a.Approval = toolset.Approval{Title: a.Title, Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: r.Write.Path, New: &r.Write.Content}}}}
	case acp.MethodCreateTerminal:
		r.Terminal = new(acp.CreateTerminalRequest)
		if err := acp.Unmarshal(h.Params, r.Terminal); err != nil {
			return nil, err
		}
		c := commandOf(r.Terminal)
		a.Tool, a.Kind, a.Title = workspace.ToolRunCommand, toolset.KindExecute, "Run a command"
		a.Approval = toolset.Approval{Title: a.Title, Preview: []toolset.Preview{{Command: &c}}}
	default:
		return nil, nil
	}
	approval.Describe(&a.Approval, "")
	if r.Permission != nil && !agentcall.Means(a.Tool, a.Approval.Effects) {
		a.Tool = otherTool
	}
	return r, nil
}

// commandOf is a terminal's command. Without arguments it is a line for a shell, as clients take
// it.
func commandOf(r *acp.CreateTerminalRequest) toolset.CommandLine {
	c := toolset.CommandLine{Line: r.Command}
	if len(r.Args) > 0 {
		c = toolset.CommandLine{Args: append([]string{r.Command}, r.Args...)}
	}
	if r.Cwd != nil {
		c.Dir = *r.Cwd
	}
	for _, e := range r.Env {
		c.Env = append(c.Env, e.Name+"="+e.Value)
	}
	return c
}

// otherTool is the tool of a question that has no name, or one that its content belies.
const otherTool = "agent_tool"

// describe returns what is known about an agent's tool call.
func describe(a *toolset.ApprovalRequest, c *acp.ToolCallUpdate) {
	a.Tool, a.Kind, a.Args = otherTool, toolset.Kind(c.Kind), c.RawInput
	if c.Name != nil && *c.Name != "" {
		a.Tool = *c.Name
	}
	if c.Title != nil {
		a.Title = *c.Title
	}
	a.Path = append(a.Path, string(c.ToolCallID))
	a.Approval.Title = a.Title
	call := agentcall.Call{Kind: a.Kind, Input: c.RawInput}
	for i := range c.Content {
		switch e := &c.Content[i]; {
		case e.Diff != nil:
			a.Approval.Preview = append(a.Approval.Preview, toolset.Preview{Diff: &toolset.Diff{Path: e.Diff.Path, Old: e.Diff.OldText, New: &e.Diff.NewText}})
		case e.Content != nil && e.Content.Content.Text != nil:
			a.Approval.Preview = append(a.Approval.Preview, toolset.Preview{Text: e.Content.Content.Text.Text})
		case e.Content == nil:
			call.Opaque = true
		}
	}
	for i := range c.Locations {
		call.Places = append(call.Places, c.Locations[i].Path)
	}
	call.Shown = len(a.Approval.Preview) > 0
	if command, ok := agentcall.Command(c.RawInput); ok {
		a.Approval.Preview = append(a.Approval.Preview, toolset.Preview{Command: &command})
	}
	a.Approval.Effects = append(a.Approval.Effects, call.Effects("")...)
}
