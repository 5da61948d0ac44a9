// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// RunTools checks a workspace through the tools of package workspace. One scripted conversation
// must get the same answers as on every other backend, and no tool may be led out of the
// workspace. newEnv is called once for each subtest.
func RunTools(t *testing.T, newEnv func() (*Env, error), opts ...workspace.ToolsOption) {
	t.Helper()
	for _, r := range toolRules(opts) {
		t.Run(r.name, func(t *testing.T) {
			if err := r.run(t.Context(), newEnv); err != nil {
				t.Error(err)
			}
		})
	}
}

func toolRules(opts []workspace.ToolsOption) []rule {
	return []rule{
		{"the same work gets the same answers", nil, func(p *probe) { p.work(opts) }},
		{"no tool leads out", nil, func(p *probe) { p.escapesOfTools(opts) }},
	}
}

// user calls tools as a run does whose asker allows everything.
type user struct {
	session *workspace.Session
	run     *toolset.RunContext[*workspace.Session]
	tools   map[string]*toolset.Tool[*workspace.Session]
}

func (p *probe) user(opts []workspace.ToolsOption) *user {
	u := &user{session: workspace.NewSession(p.ws), tools: map[string]*toolset.Tool[*workspace.Session]{}}
	u.run = &toolset.RunContext[*workspace.Session]{Deps: u.session}
	in, err := workspace.Tools(func(s *workspace.Session) *workspace.Session { return s }, opts...).Open(p.ctx, u.run)
	p.must(err, "open the tools")
	listing, err := in.Tools(p.ctx, u.run)
	p.must(err, "list the tools")
	for _, t := range listing.Tools {
		u.tools[t.Def.Name] = t
	}
	return u
}

// call makes a call and returns what the model is told, and whether that was a success.
func (u *user) call(ctx context.Context, tool string, arguments args) (told string, ok bool, err error) {
	t := u.tools[tool]
	if t == nil {
		return "", false, fmt.Errorf("unknown tool %q", tool)
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return "", false, err
	}
	decoded, err := t.Decode(raw)
	if err != nil {
		return err.Error(), false, nil
	}
	run := *u.run
	if t.Approval != nil {
		run.Call.Approval, err = t.Approval(ctx, &run, decoded)
		if err != nil {
			return "", false, err
		}
		run.Call.Approved = run.Call.Approval != nil
	}
	res, err := t.Call(ctx, &run, decoded)
	if retry, ok := errors.AsType[*toolset.RetryError](err); ok {
		return retry.Message, false, nil
	}
	return res.Text, res.Outcome == "", err
}

// work has the conversation, as far as the workspace has the features for it.
func (p *probe) work(opts []workspace.ToolsOption) {
	if !p.ws.Features().Read {
		return
	}
	u := p.user(opts)
	defer u.session.Close(p.ctx)
	for name, text := range sorted(workFiles) {
		p.put(name, text)
	}
	for i, step := range work() {
		if u.tools[step.tool] == nil {
			if step.changes() {
				return // what follows is about the change
			}
			continue
		}
		arguments := maps.Clone(step.args)
		if arguments["command"] == workCommand {
			arguments["command"], arguments["args"] = p.Program[0], p.program("work")[1:]
		}
		told, _, err := u.call(p.ctx, step.tool, arguments)
		p.must(err, "step %d", i)
		told = strings.ReplaceAll(told, p.ws.Roots()[0], "ROOT")
		if others := p.ws.Roots()[1:]; len(others) > 0 {
			told = strings.ReplaceAll(told, " or "+strings.Join(others, " or "), "")
		}
		if told != step.told {
			p.errorf("step %d, %s %v: the model was told\n%s\nand not\n%s", i, step.tool, step.args, told, step.told)
		}
	}
}

// escapesOfTools tries every escape with every tool.
func (p *probe) escapesOfTools(opts []workspace.ToolsOption) {
	p.prepareEscapes()
	u := p.user(opts)
	defer u.session.Close(p.ctx)
	tries := map[string]func(path string) args{
		workspace.ToolReadFile:  func(path string) args { return args{"path": path} },
		workspace.ToolWriteFile: func(path string) args { return args{"path": path, "content": "overwritten"} },
		workspace.ToolEditFile: func(path string) args {
			return args{"path": path, "edits": []args{{"old_text": "secret", "new_text": "overwritten"}}}
		},
		workspace.ToolListFiles: func(path string) args { return args{"path": path, "include_ignored": true} },
		workspace.ToolSearchFiles: func(path string) args {
			return args{
				"pattern": "secret", "path": path, "include_ignored": true,
			}
		},
		workspace.ToolRunCommand: func(path string) args { return args{"command": "x", "cwd": path} },
	}
	for _, tool := range slices.Sorted(maps.Keys(tries)) {
		if u.tools[tool] == nil {
			continue
		}
		for _, e := range Escapes(p.ws, p.Outside) {
			if e.Name == "" && tool != workspace.ToolReadFile { // the working directory
				continue
			}
			arguments := tries[tool](e.Name)
			if tool == workspace.ToolRunCommand {
				arguments["command"], arguments["args"] = p.Program[0], p.program("exit", "0")[1:]
			}
			told, ok, err := u.call(p.ctx, tool, arguments)
			switch {
			case err != nil:
				p.errorf("%s %q: %w", tool, short(e.Name), err)
			case ok:
				p.errorf("%s %q was not refused: %s", tool, short(e.Name), short(told))
			case !strings.Contains(told, "path") && !strings.Contains(told, "URI") && !strings.Contains(told, "Windows"):
				p.errorf(
					"%s %q: the model was told %q, which does not say that the path is wrong", tool,
					short(e.Name), short(told),
				)
			}
		}
	}
	for _, glob := range []string{"../*", "../**", "out/*", "**/secret", "/**", "base/**", "../outside/*"} {
		for tool, arguments := range sorted(map[string]args{
			workspace.ToolListFiles: {"pattern": glob, "include_ignored": true}, workspace.ToolSearchFiles: {"pattern": "secret", "glob": glob, "include_ignored": true},
		}) {
			if u.tools[tool] == nil {
				continue
			}
			if told, _, err := u.call(p.ctx, tool, arguments); err != nil || strings.Contains(told, "/secret") {
				p.errorf("%s with %q: %s, %v", tool, glob, told, err)
			}
		}
	}
	p.holds(p.out("secret"), "secret")
	p.holds(p.out("sub/secret"), "secret")
	for _, name := range []string{"new", "x", "newdir", "missing"} {
		p.absent(p.out(name))
	}
}
