// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &agent.PanicError{Value: p, Stack: debug.Stack()}
	}
}

// context makes the run of a call.
func (s *exported[D]) context(d D, tool string) *toolset.RunContext[D] {
	run := &toolset.RunContext[D]{Deps: d}
	run.RunID, run.Step = rand.Text(), 1
	run.Call = toolset.Call{ID: "1", Tool: tool}
	return run
}

// handle returns what runs a tool.
func (s *exported[D]) handle(tool string) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		d, err := s.config.deps(ctx)
		if err != nil {
			return s.failed(tool, err), nil
		}
		run := s.context(d, tool)
		run.Host = exportHost{ctx, r}
		run.Call.Args = model.RawArgs(r.Params.Arguments)
		var res toolset.Result
		err = s.within(ctx, run, func(run *toolset.RunContext[D], l toolset.Listing[D]) (err error) {
			i := slices.IndexFunc(l.Tools, func(t *toolset.Tool[D]) bool { return t.Def.Name == tool })
			if i < 0 {
				return toolset.Failed("The tool %q is not available now.", tool)
			}
			res, err = s.call(ctx, l.Tools[i], run)
			return err
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return s.failed(tool, err), nil
		}
		return converted(res), nil
	}
}

// rounds bounds how often a tool may ask for approval of one call.
const rounds = 5

// call checks, approves and runs a call.
func (s *exported[D]) call(
	ctx context.Context, t *toolset.Tool[D], run *toolset.RunContext[D],
) (toolset.Result, error) {
	timeout := t.Timeout
	if timeout == 0 {
		timeout = s.config.Timeout
	}
	if timeout > 0 {
		limited, cancel := context.WithTimeoutCause(
			ctx, timeout, toolset.Failed("The tool took longer than %v.", timeout),
		)
		defer cancel()
		ctx = limited
	}
	for range rounds {
		args, err := decodedArgs(ctx, t, run)
		if err != nil {
			return toolset.Result{}, err
		}
		var wanted *toolset.Approval
		if t.Approval != nil && !run.Call.Approved {
			look := *run
			look.Host = nil
			if wanted, err = t.Approval(ctx, &look, args); err != nil {
				return toolset.Result{}, err
			}
		}
		if wanted == nil {
			res, err := t.Call(ctx, run, args)
			ask, ok := errors.AsType[*toolset.ApprovalRequiredError](err)
			if !ok {
				if err != nil && ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				return res, err
			}
			wanted = &ask.Approval
		}
		if err := s.approve(ctx, t, run, wanted); err != nil {
			return toolset.Result{}, err
		}
	}
	return toolset.Result{}, toolset.Denied("The call kept asking for approval.")
}

// decoded checks the arguments of a call.
func decodedArgs[D any](ctx context.Context, t *toolset.Tool[D], run *toolset.RunContext[D]) (any, error) {
	raw := []byte(run.Call.Args)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	var args any = json.RawMessage(raw)
	if t.Decode != nil {
		var err error
		if args, err = t.Decode(raw); err != nil {
			return nil, toolset.Retry("%v", err)
		}
	}
	if t.Check != nil {
		look := *run
		look.Host = nil
		if err := t.Check(ctx, &look, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// approve asks the policy about a call. Nil means that it may run.
func (s *exported[D]) approve(
	ctx context.Context, t *toolset.Tool[D], run *toolset.RunContext[D], a *toolset.Approval,
) error {
	d, err := decide(ctx, s.config.Approve, toolset.ApprovalRequest{
		Origin: toolset.Origin{
			Path: []string{run.Call.ID}, RunID: run.RunID, Step: run.Step, Tool: t.Def.Name,
			Kind: t.Kind, Title: t.Title,
		},
		Args: json.RawMessage(run.Call.Args), Approval: *a,
	})
	if err != nil {
		return err
	}
	if d.Verdict != toolset.VerdictAllow {
		if d.Reason == "" {
			d.Reason = "This call needs approval, and the server's policy does not give it."
		}
		return toolset.Denied("%s", d.Reason)
	}
	run.Call.Approved, run.Call.Approval, run.Call.Decision = true, a, &d
	if len(d.Args) > 0 {
		run.Call.Args = model.RawArgs(d.Args)
	}
	return nil
}

// decide asks a policy. Nobody else can be asked, so what it defers is denied.
func decide(
	ctx context.Context,
	policy func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error),
	r toolset.ApprovalRequest,
) (d toolset.Decision, err error) {
	defer recovered(&err)
	if policy == nil {
		return toolset.Deny(""), nil
	}
	d, err = policy(ctx, r)
	if err == nil && d.Verdict != toolset.VerdictAllow {
		d.Verdict = toolset.VerdictDeny
	}
	return d, err
}

// failed is the result of a call that ended with an error.
func (s *exported[D]) failed(tool string, err error) *mcp.CallToolResult {
	text := ""
	switch outcome := toolset.Outcome(err).(type) {
	case *toolset.RetryError:
		text = outcome.Message
	case *toolset.FailedError:
		text = outcome.Message
	case *toolset.DeniedError:
		text = outcome.Message
	default:
		s.config.logger().Error("mcptoolset: tool failed", "tool", tool, "error", err)
		text = fmt.Sprintf("The tool %q failed.", tool)
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// converted is the result of a call that has ended well, or that reported an outcome.
func converted(res toolset.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: res.Outcome != model.OutcomeSuccess, Content: []mcp.Content{
		&mcp.TextContent{Text: res.Text},
	}}
	for _, p := range res.Content {
		kind, _, _ := strings.Cut(p.MediaType, "/")
		switch {
		case p.Kind == model.PartMedia && p.Data == nil:
			out.Content = append(out.Content, &mcp.ResourceLink{URI: p.URL, Name: p.Name, MIMEType: p.MediaType})
		case p.Kind == model.PartMedia && kind == "image":
			out.Content = append(out.Content, &mcp.ImageContent{MIMEType: p.MediaType, Data: p.Data})
		case p.Kind == model.PartMedia && kind == "audio":
			out.Content = append(out.Content, &mcp.AudioContent{MIMEType: p.MediaType, Data: p.Data})
		case p.Kind == model.PartMedia:
			out.Content = append(out.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
				URI: "attachment:" + p.Name, MIMEType: p.MediaType, Blob: p.Data,
			}})
		case p.Text != "":
			out.Content = append(out.Content, &mcp.TextContent{Text: p.Text})
		}
	}
	return out
}

// host serves a tool in the middle of a call.
type exportHost struct {
	ctx context.Context
	req *mcp.CallToolRequest
}

// Emit implements [toolset.Host].
func (h exportHost) Emit(_ toolset.Call, value any) {
	if p, ok := value.(Progress); ok {
		report(h.ctx, h.req, p)
	}
}

// report sends progress to a client that has asked for it.
func report(ctx context.Context, r *mcp.CallToolRequest, p Progress) {
	if token := r.Params.GetProgressToken(); token != nil {
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: p.Progress, Total: p.Total, Message: p.Message,
		})
	}
}

// Ask implements [toolset.Host]. A server has no one to ask.
func (exportHost) Ask(context.Context, toolset.Call, toolset.Question) (toolset.Reply, error) {
	return toolset.Reply{}, toolset.ErrNobody
}

// Generate implements [toolset.Host]. A server does not have a model.
func (exportHost) Generate(context.Context, toolset.Call, *model.Request) (*model.Message, error) {
	return nil, toolset.ErrNobody
}
