// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The names of the tools.
const (
	ToolFindSymbols    = "find_symbols"
	ToolFindDefinition = "find_definition"
	ToolFindReferences = "find_references"
	ToolGetDiagnostics = "get_diagnostics"
	ToolRenameSymbol   = "rename_symbol"
	ToolEditSymbol     = "edit_symbol"
	ToolCodeActions    = "code_actions"
)

// Options configures the tools. The zero value is useful.
type Options struct {
	// Trust starts servers without a question. Otherwise the first call that needs a server asks
	// for approval to start it, once for a project.
	Trust bool
	// Budget is how long the result of an edit waits for what is new in diagnostics: 1.5 s by
	// default. Negative leaves diagnostics out of the results of edits.
	Budget time.Duration
	// ReadOnly leaves out the tools that change files.
	ReadOnly bool
}

const defaultBudget = 1500 * time.Millisecond

func (o *Options) budget() time.Duration {
	if o.Budget == 0 {
		return defaultBudget
	}
	return o.Budget
}

// Tools returns the tools for the project of a session: find_symbols, find_definition,
// find_references, get_diagnostics, rename_symbol, edit_symbol and code_actions. A run gets none of
// them if session returns nil, or if the session's workspace cannot read files. It gets the tools
// that change files if the workspace can write.
//
// session returns the session from the dependencies of a run, always the same one throughout a run.
//
//   - The first call that needs a server asks for approval to start it, unless Trust is set.
//   - Calls that change files need approval, with a preview of all changes. They are made as a whole
//     or not at all, through the session's workspace.
//   - Failures of servers are told to the model, and the run continues, unless its context has ended.
//
// [Capability] also tells about problems after edits by other tools.
func Tools[D any](
	servers *Servers,
	session func(deps D) *workspace.Session,
	o Options,
) toolset.Toolset[D] {
	t := &tools[D]{servers: servers, session: session, options: o}
	t.define()
	return t
}

type tools[D any] struct {
	servers *Servers
	session func(D) *workspace.Session
	options Options
	plans   plans
	// reading are the tools that change nothing, all also those that do.
	reading, all instance[D]
}

func (t *tools[D]) Name() string { return "lsp" }

// Check implements [toolset.Checker].
func (t *tools[D]) Check() error {
	switch {
	case t.servers == nil:
		return errors.New("lsptoolset: Tools: the servers are nil")
	case t.session == nil:
		return errors.New("lsptoolset: Tools: the function is nil")
	}
	return nil
}

// Open implements [toolset.Toolset].
func (t *tools[D]) Open(
	_ context.Context,
	run *toolset.RunContext[D],
) (toolset.Instance[D], error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	s := t.session(run.Deps)
	if s == nil || s.Workspace() == nil || len(s.Workspace().Roots()) == 0 {
		return &instance[D]{}, nil
	}
	switch can := s.Workspace().Features(); {
	case !can.Read:
		return &instance[D]{}, nil
	case can.Write && !t.options.ReadOnly:
		return &t.all, nil
	}
	return &t.reading, nil
}

// instance is the toolset of any run.
type instance[D any] struct{ listing toolset.Listing[D] }

func (in *instance[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return in.listing, nil
}

func (in *instance[D]) Close(context.Context) error { return nil }

const instructions = "To find your way in code, prefer " + ToolFindSymbols + ", " + ToolFindDefinition + " and " + ToolFindReferences +
	" to text searches. Name symbols as in Type.method; no columns are needed."

func (t *tools[D]) define() {
	search, read := toolset.KindSearch, toolset.KindRead
	t.reading.listing = toolset.Listing[D]{Instructions: instructions, Tools: []*toolset.Tool[D]{
		finding(
			t,
			ToolFindSymbols,
			findSymbolsDescription,
			(*call).findSymbols,
			toolset.OfKind(search, "Find symbols"),
		),
		finding(
			t,
			ToolFindDefinition,
			findDefinitionDescription,
			(*call).findDefinition,
			toolset.OfKind(search, "Find definition"),
		),
		finding(
			t,
			ToolFindReferences,
			findReferencesDescription,
			(*call).findReferences,
			toolset.OfKind(search, "Find references"),
		),
		finding(
			t,
			ToolGetDiagnostics,
			getDiagnosticsDescription,
			(*call).getDiagnostics,
			toolset.OfKind(read, "Diagnostics"),
		),
	}}
	t.all.listing = t.reading.listing
	edit := func(title string) []toolset.Option {
		return []toolset.Option{toolset.OfKind(toolset.KindEdit, title), toolset.Sequential()}
	}
	t.all.listing.Tools = append(
		slices.Clip(t.reading.listing.Tools),
		changing(
			t,
			ToolRenameSymbol,
			renameSymbolDescription,
			(*call).renameSymbol,
			edit("Rename symbol")...),
		changing(
			t,
			ToolEditSymbol,
			editSymbolDescription,
			(*call).editSymbol,
			edit("Edit symbol")...),
		changing(
			t,
			ToolCodeActions,
			codeActionsDescription,
			(*call).codeActions,
			edit("Code actions")...),
	)
}

func (c *call) renameSymbol(ctx context.Context, in renameSymbolArgs) (toolset.Result, error) {
	c.show("Rename " + shown(in.Symbol, 200) + " to " + shown(in.NewName, 200))
	return c.change(ctx, in)
}

func (c *call) editSymbol(ctx context.Context, in editSymbolArgs) (toolset.Result, error) {
	return c.change(ctx, in)
}

// begin makes the call of a run.
func (t *tools[D]) begin(run *toolset.RunContext[D], tool string) (*call, error) {
	s := t.session(run.Deps)
	if s == nil || s.Workspace() == nil || len(s.Workspace().Roots()) == 0 {
		return nil, toolset.Failed("No workspace is available.")
	}
	v, err := t.servers.viewOf(s.Workspace())
	if err != nil {
		return nil, err
	}
	return &call{
		session: s, ws: s.Workspace(), view: v, trusted: t.options.Trust, budget: t.options.budget(), tool: tool,
		approved: run.Call.Approved, approval: run.Call.Approval, emit: run.Emit,
		plans: &t.plans, key: sha256.Sum256([]byte(
			tool + "\x00" + run.Call.ID + "\x00" + run.RunID + "\x00" + string(run.Call.Args),
		)),
	}, nil
}

// needing are arguments of a call that needs servers.
type needing interface {
	needs(ctx context.Context, c *call) ([]*Server, error)
}

// ask returns the question of a call: whether a server may be started.
func (c *call) ask(ctx context.Context, in needing) (*toolset.Approval, error) {
	servers, err := in.needs(ctx, c)
	if err != nil {
		return nil, context.Cause(ctx) // the call reports the rest
	}
	for _, s := range servers {
		if required, ok := errors.AsType[*toolset.ApprovalRequiredError](c.mayStart(s)); ok {
			return &required.Approval, nil
		}
	}
	return nil, nil
}

// finding makes a tool that changes nothing.
func finding[D any, In needing](
	t *tools[D],
	name, description string,
	do func(*call, context.Context, In) (toolset.Result, error),
	opts ...toolset.Option,
) *toolset.Tool[D] {
	opts = append(
		opts,
		toolset.Approve(
			func(ctx context.Context, run *toolset.RunContext[D], in In) (*toolset.Approval, error) {
				c, err := t.begin(run, name)
				if err != nil {
					return nil, nil // the call says so
				}
				return c.ask(ctx, in)
			},
		),
	)
	return makeTool(t, name, description, do, opts)
}

// changing makes a tool that may change files. Its question has all changes.
func changing[D any, In interface {
	needing
	planned
}](
	t *tools[D], name, description string,
	do func(*call, context.Context, In) (toolset.Result, error), opts ...toolset.Option,
) *toolset.Tool[D] {
	opts = append(
		opts,
		toolset.Approve(
			func(ctx context.Context, run *toolset.RunContext[D], in In) (*toolset.Approval, error) {
				c, err := t.begin(run, name)
				if err != nil {
					return nil, nil // the call says so
				}
				if a, err := c.ask(ctx, in); a != nil || err != nil {
					return a, err
				}
				if lists, ok := any(in).(codeActionsArgs); ok && lists.Apply == "" {
					return nil, nil
				}
				p, err := c.prepare(ctx, in)
				if required, ok := errors.AsType[*toolset.ApprovalRequiredError](err); ok {
					return &required.Approval, nil
				}
				if err != nil || len(p.batch.files) == 0 {
					return nil, context.Cause(ctx) // the call reports the rest
				}
				return c.batchApproval(p.batch), nil
			},
		),
	)
	return makeTool(t, name, description, do, opts)
}

func makeTool[D, In any](
	t *tools[D],
	name, description string,
	do func(*call, context.Context, In) (toolset.Result, error),
	opts []toolset.Option,
) *toolset.Tool[D] {
	return toolset.Func(
		name,
		description,
		func(ctx context.Context, run *toolset.RunContext[D], in In) (toolset.Result, error) {
			c, err := t.begin(run, name)
			if err != nil {
				return toolset.Result{}, err
			}
			ctx, cancel := c.view.context(ctx)
			defer cancel()
			return do(c, ctx, in)
		},
		opts...)
}

// plans keeps the last plans, because a change is worked out for the question, before the call, and
// in it. It is safe for concurrent use.
type plans struct {
	mu      sync.Mutex
	entries []planEntry // the oldest first
}

type planEntry struct {
	key [sha256.Size]byte
	*prepared
}

// prepared is a change that was worked out.
type prepared struct{ batch *batch }

// maxPlans is how many plans are kept; calls that change files run one after the other.
const maxPlans = 4

func (p *plans) get(key [sha256.Size]byte) *prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.key == key {
			return e.prepared
		}
	}
	return nil
}

func (p *plans) put(key [sha256.Size]byte, made *prepared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = slices.DeleteFunc(p.entries, func(e planEntry) bool { return e.key == key })
	if made == nil {
		return
	}
	if len(p.entries) >= maxPlans {
		p.entries = slices.Delete(p.entries, 0, 1)
	}
	p.entries = append(p.entries, planEntry{key, made})
}

// prepare works out the change of a call. The plan of the question is used again if the files are
// unchanged.
func (c *call) prepare(ctx context.Context, in planned) (*prepared, error) {
	if p := c.plans.get(c.key); p != nil && c.holds(ctx, p.batch) {
		return p, nil
	}
	b, err := in.plan(ctx, c)
	if err != nil {
		c.plans.put(c.key, nil)
		return nil, err
	}
	p := &prepared{b}
	c.plans.put(c.key, p)
	return p, nil
}

// holds reports whether the files of a batch are as they were.
func (c *call) holds(ctx context.Context, b *batch) bool {
	for _, f := range b.files {
		doc, err := workspace.OpenDocument(ctx, c.ws, f.at.Path, true)
		if err != nil || doc.Version != f.doc.Version ||
			workspace.Follow(ctx, c.ws, f.at.Path) != f.follow {
			return false
		}
	}
	return len(b.files) > 0
}
