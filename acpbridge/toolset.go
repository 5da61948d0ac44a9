// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// The names of the tools of [Toolset].
const (
	ToolReadFile            = "read_file"
	ToolWriteFile           = "write_file"
	ToolEditFile            = "edit_file"
	ToolRunCommand          = "run_command"
	ToolGetTerminalOutput   = "get_terminal_output"
	ToolWaitForTerminalExit = "wait_for_terminal_exit"
	ToolKillTerminal        = "kill_terminal"
	ToolReleaseTerminal     = "release_terminal"
)

// Toolset returns the tools that work on the user's files and terminals through the editor. A run is offered what its
// client announced and nothing else: read_file, write_file, edit_file if it has both, and the five terminal tools; without a client, nothing.
// The protocol has no way to list and search files. If the session's directories are on this machine, a run is offered list_files and
// search_files as well, which look at them here: at what is saved.
//
//   - Paths may be relative to the session's working directory and must lie in the session's directories, symbolic links
//     resolved as far as this machine knows them. That protects against mistakes and against what a model was talked into; it
//     is no sandbox, for the client opens the file later.
//   - write_file, edit_file and run_command need approval. [Serve] has the user asked; a run without Serve needs agent.WithAsker with [Asker], or
//     its calls are left pending. See [WithPermissions] for agents that nobody watches.
//   - write_file and edit_file are barriers among the calls of a response, and so is run_command unless [WithParallelCommands] says
//     otherwise: what a model does in one response happens in its order.
//   - A terminal is released when its command has ended, however that came about. One that runs in the background is released by
//     release_terminal, or when the run ends.
//   - Whatever the client answers with an error is told to the model, which can go on. The end of the connection ends the run.
func Toolset[D deps.Carrier](opts ...ToolsetOption) toolset.Toolset[D] {
	o := toolsetOptions{readLimit: 256 << 10, outputLimit: 32 << 10, commandTimeout: 10 * time.Minute, cleanup: 2 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	return &acpTools[D]{options: o}
}

// ToolsetOption changes a [Toolset].
type ToolsetOption func(*toolsetOptions)

type toolsetOptions struct {
	readLimit, outputLimit int
	commandTimeout         time.Duration
	parallelCommands       bool
	permissions            PermissionFunc
	cleanup                time.Duration
}

// WithReadLimit bounds how much of a file read_file shows to the model at a time, in bytes; the default is 256 KiB. The
// model is told how to read on.
func WithReadLimit(bytes int) ToolsetOption {
	return func(o *toolsetOptions) { o.readLimit = max(bytes, 1) }
}

// WithOutputLimit bounds how much of a command's output the model is shown, in bytes; the default is 32 KiB. Of a longer one
// it sees the beginning and the end.
func WithOutputLimit(bytes int) ToolsetOption {
	return func(o *toolsetOptions) { o.outputLimit = max(bytes, 1) }
}

// WithCommandTimeout sets how long run_command lets a command run if the model does not say; the default is 10 minutes. There is
// no limit if d is zero or negative.
func WithCommandTimeout(d time.Duration) ToolsetOption {
	return func(o *toolsetOptions) { o.commandTimeout = d }
}

// WithParallelCommands lets the commands of one response run at the same time, as far as they need no approval.
func WithParallelCommands() ToolsetOption {
	return func(o *toolsetOptions) { o.parallelCommands = true }
}

// acpTools has no state of its own: what a run needs is in its workspace.
type acpTools[D deps.Carrier] struct{ options toolsetOptions }

func (s *acpTools[D]) Name() string { return "acp" }

func (s *acpTools[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	in := &acpToolsInstance[D]{workspace: newWorkspace(run.Deps.ACP(), s.options)}
	if w := in.workspace; w.available() {
		found, close, err := findTools(ctx, run, w)
		if err != nil {
			return nil, err
		}
		in.close = close
		in.listing = toolset.Listing[D]{Tools: append(listTools[D](w), found...), Instructions: w.instructions(len(found) > 0)}
	}
	return in, nil
}

// acpToolsInstance is the toolset at work in one run. What it lists follows from the session, so it never changes.
type acpToolsInstance[D deps.Carrier] struct {
	workspace *workspace
	listing   toolset.Listing[D]
	close     func() error // of the tools that list and search; may be nil
}

func (in *acpToolsInstance[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return in.listing, nil
}

func (in *acpToolsInstance[D]) Close(ctx context.Context) error {
	in.workspace.releaseAll(ctx)
	if in.close != nil {
		return in.close()
	}
	return nil
}

// listTools returns the tools that the client announced, in a fixed order.
func listTools[D deps.Carrier](w *workspace) []*toolset.Tool[D] {
	var tools []*toolset.Tool[D]
	can := w.Session.Capabilities
	if can.FS.ReadTextFile {
		tools = append(tools, newTool[D](w, ToolReadFile, readFileDescription, w.readFile, toolset.OfKind(toolset.KindRead, "Read file")))
	}
	if can.FS.WriteTextFile {
		tools = append(tools, newTool[D](w, ToolWriteFile, writeFileDescription, w.writeFile,
			toolset.OfKind(toolset.KindEdit, "Write file"), toolset.Sequential(), approved[D](w, ToolWriteFile, w.approveWrite)))
	}
	if can.FS.ReadTextFile && can.FS.WriteTextFile {
		tools = append(tools, newTool[D](w, ToolEditFile, editFileDescription, w.editFile,
			toolset.OfKind(toolset.KindEdit, "Edit file"), toolset.Sequential(), approved[D](w, ToolEditFile, w.approveEdit)))
	}
	if !can.Terminal {
		return tools
	}
	execute := func(title string) toolset.Option { return toolset.OfKind(toolset.KindExecute, title) }
	run := []toolset.Option{execute("Run command"), approved[D](w, ToolRunCommand, w.approveCommand)}
	if !w.options.parallelCommands {
		run = append(run, toolset.Sequential())
	}
	return append(tools,
		newTool[D](w, ToolRunCommand, runCommandDescription(w.options.commandTimeout), w.runCommand, run...),
		newTool[D](w, ToolGetTerminalOutput, getTerminalOutputDescription, w.getTerminalOutput, execute("Look at terminal")),
		newTool[D](w, ToolWaitForTerminalExit, waitForTerminalExitDescription, w.waitForTerminalExit, execute("Wait for terminal")),
		newTool[D](w, ToolKillTerminal, killTerminalDescription, w.killTerminal, execute("Stop terminal")),
		newTool[D](w, ToolReleaseTerminal, releaseTerminalDescription, w.releaseTerminal, execute("Close terminal")),
	)
}

// newTool makes a tool of a method of the workspace.
func newTool[D deps.Carrier, In describer](
	w *workspace, name, description string, do func(context.Context, *activity, In) (answer, error), opts ...toolset.Option,
) *toolset.Tool[D] {
	var options toolset.Options
	for _, o := range opts {
		o(&options)
	}
	return toolset.Func(name, description, func(ctx context.Context, run *toolset.RunContext[D], in In) (toolset.Result, error) {
		a := newActivity(w, name, run)
		return a.perform(ctx, acp.ToolKind(options.Kind), in, func(ctx context.Context) (answer, error) { return do(ctx, a, in) })
	}, opts...)
}

// approved is the option of a tool whose calls need approval.
func approved[D deps.Carrier, In any](w *workspace, name string, approve func(context.Context, *activity, In) (*toolset.Approval, error)) toolset.Option {
	return toolset.Approve(func(ctx context.Context, run *toolset.RunContext[D], in In) (*toolset.Approval, error) {
		return approve(ctx, newActivity(w, name, run), in)
	})
}

func newActivity[D deps.Carrier](w *workspace, name string, run *toolset.RunContext[D]) *activity {
	return &activity{workspace: w, tool: name, id: deps.ToolCallID(run.RunID, run.Step, run.Call.ID), call: run.Call}
}

// workspace is what the tools of one run share. It has no type parameters.
type workspace struct {
	deps.ACPDeps
	options   toolsetOptions
	terminals terminals
}

func newWorkspace(d deps.ACPDeps, o toolsetOptions) *workspace {
	return &workspace{ACPDeps: d, options: o}
}

func (w *workspace) available() bool { return w.Client != nil && w.Session != nil }

// instructions tell the model where it is. finds says that it can list and search files.
func (w *workspace) instructions(finds bool) string {
	can := w.Session.Capabilities
	if !can.FS.ReadTextFile && !can.FS.WriteTextFile && !can.Terminal && !finds {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The working directory is %s; relative paths start there.", w.Session.Cwd)
	if more := w.Session.AdditionalDirectories; len(more) > 0 {
		fmt.Fprintf(&b, " Files in these directories can be used too: %s.", strings.Join(more, ", "))
	}
	if can.FS.ReadTextFile {
		b.WriteString(" Files are read as the user's editor has them, changes that are not saved included.")
	}
	return b.String()
}
