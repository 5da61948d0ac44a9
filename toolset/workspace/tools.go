// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// Tools returns the tools for the files and commands of a session: read_file, write_file,
// edit_file, list_files, search_files, run_command, get_terminal_output, wait_for_terminal_exit,
// kill_terminal and release_terminal. A run gets those that the session's workspace has the
// [Features] for.
//
// session returns the session from the dependencies of a run. It is called often and must return
// the same session throughout a run. If it returns nil, the run gets none of the tools.
//
//   - write_file, edit_file and run_command need approval, with a preview: the diff, or the command with its directory and environment. If
//     the file has changed since, it is shown again. Ending a command needs no approval, because only commands of the session can be ended.
//   - The tools that write, and run_command, are barriers among the calls of a response. The others run in parallel.
//   - Results are bounded, and explain how to read the rest.
//   - Failures are told to the model, and the run continues, unless its context has ended.
func Tools[D any](session func(deps D) *Session, opts ...ToolsOption) toolset.Toolset[D] {
	o := options{readLimit: 256 << 10, outputLimit: 32 << 10, commandTimeout: 10 * time.Minute, scope: DefaultScope}
	for _, opt := range opts {
		opt(&o)
	}
	t := &tools[D]{session: session, options: o}
	t.all = t.define()
	return t
}

// ToolsOption changes [Tools].
type ToolsOption func(*options)

type options struct {
	readLimit, outputLimit int
	commandTimeout         time.Duration
	parallelCommands       bool
	noTerminals            bool
	scope                  ScopeFunc
}

// WithReadLimit bounds how much of a file read_file shows at a time, in bytes. The default is 256
// KiB.
func WithReadLimit(bytes int) ToolsOption {
	return func(o *options) { o.readLimit = max(bytes, 1) }
}

// WithOutputLimit bounds how much of a command's output is shown at a time, in bytes. The default
// is 32 KiB.
func WithOutputLimit(bytes int) ToolsOption {
	return func(o *options) { o.outputLimit = max(bytes, 1) }
}

// WithCommandTimeout sets the time limit of run_command if the model sets none. The default is 10
// minutes. There is no limit if d is zero or negative.
func WithCommandTimeout(d time.Duration) ToolsOption {
	return func(o *options) { o.commandTimeout = d }
}

// WithParallelCommands lets the commands of one response run at the same time.
func WithParallelCommands() ToolsOption {
	return func(o *options) { o.parallelCommands = true }
}

// WithoutTerminals leaves out commands in the background, and the tools for them. Output that is
// too long to be shown is cut. The tools then keep nothing in memory between calls, so they also
// work on engines that execute the calls of a run in several processes: see [toolset.Stateless].
func WithoutTerminals() ToolsOption {
	return func(o *options) { o.noTerminals = true }
}

// WithScope sets what an "always" decision about a call covers. The default is [DefaultScope].
func WithScope(f ScopeFunc) ToolsOption {
	return func(o *options) {
		if f != nil {
			o.scope = f
		}
	}
}

type tools[D any] struct {
	session func(D) *Session
	options options
	all     []feature[D]
	cached  [1 << 7][]*toolset.Tool[D] // by features
}

// feature is a tool and what it needs.
type feature[D any] struct {
	tool  *toolset.Tool[D]
	needs abilities
}

func (t *tools[D]) Name() string { return "workspace" }

// Check implements [toolset.Checker].
func (t *tools[D]) Check() error {
	if t.session == nil {
		return errors.New("workspace: Tools: the function is nil")
	}
	return nil
}

func (t *tools[D]) Open(_ context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	in := &instance[D]{}
	s := t.session(run.Deps)
	if s == nil {
		return in, nil
	}
	if s.workspace == nil {
		return nil, errNoWorkspace
	}
	f := s.workspace.Features()
	in.listing.Tools = t.cached[abilitiesOf(f)]
	if len(in.listing.Tools) > 0 {
		in.listing.Instructions = instructions(s.workspace)
	}
	if f.Unsaved {
		in.listing.Instructions += " Files are read from the user's editor, including unsaved changes."
	}
	return in, nil
}

var errNoWorkspace = errors.New("workspace: NewSession: the workspace is nil; for a run without files, let the function return a nil session")

// instance is the toolset of one run. Its tools are determined by the session and never change.
type instance[D any] struct{ listing toolset.Listing[D] }

func (in *instance[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return in.listing, nil
}

func (in *instance[D]) Close(context.Context) error { return nil }

// abilities are the features that tools need, as a set.
type abilities uint8

const (
	canRead abilities = 1 << iota
	canReadSaved
	canWrite
	canWalk
	canCommand
	canUnsaved // which no tool needs
	canLeave   // the sandbox
)

func abilitiesOf(f Features) (all abilities) {
	for i, has := range [...]bool{ // in the order of the constants
		f.Read, f.readsSaved(), f.Write, f.Walk, f.Commands, f.Unsaved, f.Commands && f.Unsandboxed,
	} {
		if has {
			all |= 1 << i
		}
	}
	return all
}

// instructions tell the model where it is.
func instructions(w Workspace) string {
	roots := w.Roots()
	if len(roots) == 0 {
		return ""
	}
	text := fmt.Sprintf("The working directory is %s; relative paths start there.", roots[0])
	if len(roots) > 1 {
		text += fmt.Sprintf(" Files in these directories can be used too: %s.", strings.Join(roots[1:], ", "))
	}
	return text
}

// define makes the tools, in their order, and what is offered for all features.
func (t *tools[D]) define() []feature[D] {
	edits := func(title string) []toolset.Option {
		return []toolset.Option{toolset.OfKind(toolset.KindEdit, title), toolset.Sequential()}
	}
	run := execute("Run command")
	if !t.options.parallelCommands {
		run = append(run, toolset.Sequential())
	}
	runs, boxed := runTool[D, runCommandArgs], runTool[D, boxedCommandArgs]
	if t.options.noTerminals {
		runs, boxed = runTool[D, commandArgs], runTool[D, boxedArgs]
	} else {
		run = append(run, toolset.InMemory(inMemory))
	}
	all := []feature[D]{
		{makeTool(t, ToolReadFile, readFileDescription, (*call).readFile, nil, toolset.OfKind(
			toolset.KindRead, "Read file",
		)), canRead},
		{makeTool(t, ToolWriteFile, writeFileDescription, (*call).writeFile, (*call).approveWrite, edits("Write file")...), canWrite},
		{makeTool(t, ToolEditFile, editFileDescription, (*call).editFile, (*call).approveEdit, edits("Edit file")...), canRead | canWrite},
		{makeTool(t, ToolListFiles, listFilesDescription, (*call).listFiles, nil, toolset.OfKind(
			toolset.KindSearch, "List files",
		)), canWalk},
		{makeTool(
			t, ToolSearchFiles, searchFilesDescription, (*call).searchFiles, nil,
			toolset.OfKind(toolset.KindSearch, "Search files"),
		), canReadSaved | canWalk},
		{runs(t, runCommandDescription(&t.options), run), canCommand},
	}
	if !t.options.noTerminals {
		all = append(all, t.terminalTools()...)
	}
	leaving := boxed(t, boxedCommandDescription(&t.options), run)
	for i := range t.cached {
		for _, f := range all {
			if f.needs&abilities(i) != f.needs {
				continue
			}
			tool := f.tool
			if abilities(i)&canLeave != 0 && tool.Def.Name == ToolRunCommand {
				tool = leaving
			}
			if f.needs&canWalk != 0 && abilities(i)&canUnsaved != 0 {
				saved := *tool
				saved.Def.Description += " Unsaved changes in the editor are not seen."
				tool = &saved
			}
			t.cached[i] = append(t.cached[i], tool)
		}
	}
	return all
}

func execute(title string) []toolset.Option {
	return []toolset.Option{toolset.OfKind(toolset.KindExecute, title)}
}

// call is a tool call in progress. It has no type parameters.
type call struct {
	*Session
	options *options
	ws      Workspace
	tool    string
	// approved is set if the call has been approved. approval is the question that was shown, if it
	// is known.
	approved bool
	approval *toolset.Approval
}

// makeTool makes a tool of methods of call.
func makeTool[D, In any](
	t *tools[D], name, description string,
	do func(*call, context.Context, In) (toolset.Result, error),
	approve func(*call, context.Context, In) (*toolset.Approval, error),
	opts ...toolset.Option,
) *toolset.Tool[D] {
	begin := func(run *toolset.RunContext[D]) (*call, error) {
		s := t.session(run.Deps)
		if s == nil || s.workspace == nil {
			return nil, toolset.Failed("No workspace is available.")
		}
		return &call{
			Session: s, options: &t.options, ws: s.workspace, tool: name,
			approved: run.Call.Approved, approval: run.Call.Approval,
		}, nil
	}
	if approve != nil {
		opts = append(opts, toolset.Approve(func(ctx context.Context, run *toolset.RunContext[D], in In) (*toolset.Approval, error) {
			c, err := begin(run)
			if err != nil {
				return nil, nil // the call says so
			}
			return approve(c, ctx, in)
		}))
	}
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in In) (toolset.Result, error) {
		c, err := begin(run)
		if err != nil {
			return toolset.Result{}, err
		}
		return do(c, ctx, in)
	}, opts...)
}

// text is the result of a call.
func text(format string, args ...any) toolset.Result {
	return toolset.Result{Text: fmt.Sprintf(format, args...)}
}
