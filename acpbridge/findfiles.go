// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	ws "github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The names of the tools of [Toolset] that work on this machine.
const (
	ToolListFiles   = ws.ToolListFiles
	ToolSearchFiles = ws.ToolSearchFiles
)

// titled is implemented by the arguments of tools that say what a call is about.
type titled interface{ Title() string }

// findTools returns the tools that list and search files, which the protocol lacks. They look at the session's directories on this machine,
// if they are here. close gives up what they hold; it may be nil.
func findTools[D deps.Carrier](ctx context.Context, run *toolset.RunContext[D], w *workspace) (tools []*toolset.Tool[D], close func() error, err error) {
	if (runtime.GOOS == "windows") != isWindowsPath(w.Session.Cwd) {
		return nil, nil, nil
	}
	roots := append([]string{w.Session.Cwd}, w.Session.AdditionalDirectories...)
	here, err := local.Open(local.Config{Roots: roots, NoCommands: true})
	if err != nil {
		return nil, nil, nil // they are on another machine
	}
	session := ws.NewSession(here)
	in, err := ws.Tools(func(D) *ws.Session { return session }).Open(ctx, run)
	if err == nil {
		var listing toolset.Listing[D]
		listing, err = in.Tools(ctx, run)
		for _, t := range listing.Tools {
			if t.Def.Name == ToolListFiles || t.Def.Name == ToolSearchFiles {
				tools = append(tools, withTitle(w, t))
			}
		}
	}
	if err != nil {
		_ = here.Close()
		return nil, nil, err
	}
	return tools, here.Close, nil
}

// withTitle returns a tool that shows the user what each call is about.
func withTitle[D deps.Carrier](w *workspace, t *toolset.Tool[D]) *toolset.Tool[D] {
	copied := *t
	copied.Call = func(ctx context.Context, run *toolset.RunContext[D], args any) (toolset.Result, error) {
		return newActivity(w, t.Def.Name, run).perform(ctx, acp.ToolKind(t.Kind), findArgs{args}, func(ctx context.Context) (answer, error) {
			res, err := t.Call(ctx, run, args)
			if err == nil && res.Outcome != "" {
				err = toolset.Failed("%s", res.Text)
			}
			return answer{text: res.Text, show: []acp.ToolCallContent{deps.TextContent(shown(res.Text))}}, err
		})
	}
	return &copied
}

// findArgs are the arguments of a tool of package workspace.
type findArgs struct{ args any }

func (in findArgs) describe(*workspace) (string, []acp.ToolCallLocation) {
	if t, ok := in.args.(titled); ok {
		return t.Title(), nil
	}
	return "", nil
}

// MarshalJSON implements [json.Marshaler]: the user is shown the arguments.
func (in findArgs) MarshalJSON() ([]byte, error) { return json.Marshal(in.args) }
