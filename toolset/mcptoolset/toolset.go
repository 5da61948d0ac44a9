// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// Options configures the tools of a server. The zero value asks for approval of every call.
type Options[D any] struct {
	// Policy decides about a call before a person is asked. [toolset.VerdictAllow] lets it run,
	// [toolset.VerdictDeny] denies it, and [toolset.VerdictDefer] asks the run's asker, as happens
	// without a policy. It may be called several times for a call, must be quick, and should not
	// trust what the definition claims, hints included.
	Policy func(ctx context.Context, run *toolset.RunContext[D], call Call) (toolset.Verdict, error)
	// Instructions adds what the server says about itself to the agent's instructions. It is text
	// from the server.
	Instructions bool
	// Resources adds tools that list and read the server's resources. Prompts adds tools that list
	// its prompts and get one. They need approval like the server's own tools.
	Resources, Prompts bool
	// InMemory says what the server keeps in memory between calls, if it does, such as "the pages
	// of a browser": see [toolset.Options]. Each process has its own server, or its own session
	// with it.
	InMemory string
	// Required fails runs while the server is not available. Otherwise they run without its tools.
	Required bool
}

// Call is a call of a server's tool that a policy decides about.
type Call struct {
	// Definition is the tool as the server defines it now.
	*Definition
	// Args are the arguments, as JSON.
	Args json.RawMessage
}

// Tools returns a toolset with the tools of a server. The server may be shared by any number of
// toolsets, agents and runs. Closing a run does not close the server.
//
// A run waits for a server that is being connected for the first time ([Config.Wait]); all servers
// of a run connect at the same time. If the server is not available, the run continues without its
// tools, and gets them in the step after they are known. Tools that were known before stay on offer
// while the server is being restarted, and calls wait for it.
//
// If another tool of the agent has the name of a server's tool, the server's is offered under a
// name that ends with a hash, which depends on the server and the tool only. If both are tools of
// servers, that holds for both. [Server.Problems] and the log name such tools.
//
// Every call needs approval, unless a policy allows it. The scope of an approval is the tool with
// its present definition: "always" ends when the server changes the tool.
func Tools[D any](server *Server, options Options[D]) toolset.Toolset[D] {
	return &serverTools[D]{server: server, options: options}
}

// serverTools is the toolset of one server.
type serverTools[D any] struct {
	server  *Server
	options Options[D]

	mu   sync.Mutex
	from *catalog // the tools were made from
	made []*toolset.Tool[D]
}

// Name implements [toolset.Toolset].
func (t *serverTools[D]) Name() string {
	if t.server == nil {
		return "mcp()"
	}
	return "mcp(" + t.server.config.Name + ")"
}

// Check implements [toolset.Checker].
func (t *serverTools[D]) Check() error {
	if t.server == nil {
		return errors.New("mcptoolset: Tools: the server is nil")
	}
	return nil
}

// Open implements [toolset.Toolset]. It begins to connect and does not wait. So all the servers of
// a run connect at the same time.
func (t *serverTools[D]) Open(_ context.Context, _ *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	s := t.server
	s.mu.Lock()
	s.begin()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("mcptoolset: server %q: %w", s.config.Name, ErrClosed)
	}
	return &serverInstance[D]{tools: t}, nil
}

// serverInstance is the toolset in one run.
type serverInstance[D any] struct {
	tools   *serverTools[D]
	awaited bool
}

// await waits for the first connection, within the time that a run may wait.
func (s *Server) await(ctx context.Context, required bool) error {
	s.mu.Lock()
	a, known, closed := s.begin(), s.known != nil, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case a == nil || known:
		return nil
	}
	limit := time.Until(a.begun.Add(s.config.Wait))
	if !a.first && !required {
		limit = 0
	}
	select {
	case <-a.done:
		if a.err != nil && required {
			return fmt.Errorf("%w: %s", ErrUnavailable, s.plain(a.err))
		}
		return nil
	case <-time.After(limit):
		if required {
			return fmt.Errorf("%w: not connected yet", ErrUnavailable)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Tools implements [toolset.Instance]. The first call waits for the server.
func (in *serverInstance[D]) Tools(ctx context.Context, _ *toolset.RunContext[D]) (toolset.Listing[D], error) {
	t := in.tools
	if !in.awaited {
		if err := t.server.await(ctx, t.options.Required); err != nil {
			return toolset.Listing[D]{}, fmt.Errorf("mcptoolset: server %q: %w", t.server.config.Name, err)
		}
		in.awaited = true
	}
	cat := t.server.catalogNow(ctx)
	if cat == nil {
		return toolset.Listing[D]{}, nil
	}
	l := toolset.Listing[D]{Tools: t.tools(cat)}
	if t.options.Instructions && cat.instructions != "" {
		l.Instructions = fmt.Sprintf(
			"The MCP server %q says about its tools:\n%s", t.server.config.Name, cat.instructions,
		)
	}
	return l, nil
}

// Close implements [toolset.Instance]. The server stays open.
func (in *serverInstance[D]) Close(context.Context) error { return nil }

// tools returns the tools of a catalog, the same slice as long as they are the same.
func (t *serverTools[D]) tools(cat *catalog) []*toolset.Tool[D] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.from == cat || t.from != nil && len(cat.tools) > 0 && len(t.from.tools) == len(cat.tools) && &t.from.tools[0] == &cat.tools[0] {
		return t.made
	}
	made := make([]*toolset.Tool[D], 0, len(cat.tools)+4)
	for _, d := range cat.tools {
		made = append(made, t.tool(d))
	}
	t.from, t.made = cat, t.extra(cat, made)
	return t.made
}

// tool makes a tool of a definition.
func (t *serverTools[D]) tool(d *Definition) *toolset.Tool[D] {
	s := t.server
	// Kind says nothing, whatever the server claims: policies decide by kind.
	tool := toolset.Raw(d.offered, d.Description, d.Schema, func(ctx context.Context, run *toolset.RunContext[D], args json.RawMessage) (toolset.Result, error) {
		return s.call(ctx, caller{call: &run.Call, host: run.Host, info: &run.RunInfo, title: d.Name}, d, args)
	}, toolset.OfKind(toolset.KindOther, d.title()))
	tool.Timeout, tool.InMemory = s.config.CallTimeout, t.options.InMemory
	tool.Decode = decodeObject
	t.guard(tool, d)
	return tool
}

// guard puts a tool under approval, and lets it give way to others of its name.
func (t *serverTools[D]) guard(tool *toolset.Tool[D], d *Definition) {
	tool.Yield = func(name string) string { return t.server.yield(d, name) }
	now := func(ctx context.Context) *Definition {
		if cat := t.server.catalogNow(ctx); cat != nil && cat.byName[d.Name] != nil {
			return cat.byName[d.Name]
		}
		return d
	}
	if d.Schema == nil { // one of ours
		now = func(context.Context) *Definition { return d }
	}
	if t.options.Policy != nil {
		tool.Check = func(ctx context.Context, run *toolset.RunContext[D], args any) error {
			v, err := t.options.Policy(ctx, run, Call{Definition: now(ctx), Args: args.(json.RawMessage)})
			if err == nil && v == toolset.VerdictDeny {
				err = toolset.Denied("A policy denies this tool of the MCP server %q.", t.server.config.Name)
			}
			return err
		}
	}
	tool.Approval = func(ctx context.Context, run *toolset.RunContext[D], args any) (*toolset.Approval, error) {
		current, raw := now(ctx), args.(json.RawMessage)
		if t.options.Policy != nil {
			if v, err := t.options.Policy(ctx, run, Call{Definition: current, Args: raw}); err != nil || v == toolset.VerdictAllow {
				return nil, err
			}
		}
		return approvalOf(current, raw), nil
	}
}

// decodeObject accepts JSON objects. The server checks them against the schema.
func decodeObject(raw []byte) (any, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(raw) {
		return nil, toolset.Retry("the arguments are not valid JSON")
	}
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return json.RawMessage(raw), nil
		}
		break
	}
	return nil, toolset.Retry("the arguments must be a JSON object")
}

// title is the display name of a tool.
func (d *Definition) title() string {
	return visible(cmp.Or(d.Title, d.Name), 100) + " (" + d.Server + ")"
}
