// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"weak"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Deps is the state that the tools of a session share: its files and commands, and the changes made
// to the files. It implements [deps.Carrier].
type Deps struct {
	deps.ACPDeps
	// Changes records what the tools change, for /undo. Files are the files below that record: what
	// is written there cannot be undone.
	Changes *checkpoint.Recorder
	Files   workspace.Workspace

	turns  *checkpoint.Turns
	layers []approval.Layer // that decide before the user is asked
}

// Kit holds what the sessions of a coding agent share. Make one with [New] in the program's New,
// before the host is made. It is safe for concurrent use.
type Kit struct {
	e       *app.Env
	servers *acpmcp.Servers
	code    *lsptoolset.Servers
	rules   *rules
	undo    *undo
	unboxed *sync.Once
}

// New returns the kit of a program. Invalid servers in the user's configuration are reported with
// [app.Env.Wrong].
func New(e *app.Env) *Kit {
	k := &Kit{e: e, unboxed: new(sync.Once), rules: &rules{program: e.Name, user: e.Config}}
	k.undo = &undo{program: e.Name, dir: e.Beside, keyring: e.Keyring}
	k.undo.tell = func(err error) { e.Say("%v", err) }
	k.servers = acpmcp.New(acpmcp.Config{Servers: servers(e)})
	k.code = code(e)
	return k
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (Kit) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "coding.Kit") }

// servers returns the MCP servers of the user.
func servers(e *app.Env) []mcptoolset.ServerConfig {
	text := e.Config.MCPServers()
	if text == nil {
		return nil
	}
	all, err := mcptoolset.ParseConfig(text, os.LookupEnv)
	if err != nil {
		e.Wrong(e.Config.WrongAll("mcpServers", "mcptoolset: configuration: ", err))
	}
	return all
}

// code returns the language servers, nil if none is installed.
func code(e *app.Env) *lsptoolset.Servers {
	var known []lsptoolset.Server
	if text := e.Config.LanguageServers(); text != nil {
		var err error
		if known, err = lsptoolset.ParseConfig(text); err != nil {
			e.Wrong(e.Config.WrongAll("languageServers", "lsptoolset: configuration: ", err))
			return nil
		}
	}
	all, err := lsptoolset.New(lsptoolset.Config{
		Servers: known, Run: editor.Local(e), Logger: e.Logger, Client: lsptoolset.ClientInfo{
			Name: e.Name, Version: e.Version,
		},
	})
	if err != nil {
		e.Wrong(e.Config.WrongAll("languageServers", "lsptoolset: ", err))
		return nil
	}
	e.OnClose(all.Close)
	if len(all.Installed()) == 0 {
		return nil
	}
	return all
}

// Code returns the language servers that are installed, nil if there are none.
func (k *Kit) Code() *lsptoolset.Servers { return k.code }

// Toolsets returns the tools of a coding agent: for the files and commands of the session, for
// taking changes back, and tools of the MCP servers that the editor and the user have.
func (k *Kit) Toolsets() []toolset.Toolset[Deps] {
	return []toolset.Toolset[Deps]{
		acpbridge.Toolset[Deps](),
		checkpoint.Tools(func(d Deps) *checkpoint.Recorder { return d.Changes }),
		acpmcp.Toolset(k.servers, mcptoolset.Options[Deps]{}),
	}
}

// Deps makes the dependencies of a session, for [app.Config].Deps. Files and commands are in the
// editor or on this machine, as the user's configuration says, and on this machine for browsers.
func (k *Kit) Deps(_ context.Context, s *host.Session, p host.Place) (Deps, error) {
	machine := fallback(k.e)
	machine.MCP = k.servers
	if p == host.Local {
		machine.Files, machine.Commands = true, true
	}
	layers, reads, err := k.rules.of(s, acpbridge.SessionOf(s))
	if err != nil {
		return Deps{}, err
	}
	machine.Config.Sandbox = hiding(machine.Config.Sandbox, reads)
	d, err := acpbridge.DepsOf(s, machine)
	if err != nil {
		return Deps{}, err
	}
	made := k.deps(s, d, reads)
	made.layers = layers
	made.Workspace.ContinueAfter(s.Info().Head)
	return made, nil
}

// hiding returns a sandbox that hides the files that rules deny to read.
func hiding(s *local.Sandbox, reads func(string) (toolset.Verdict, string)) *local.Sandbox {
	if s == nil || reads == nil {
		return s
	}
	own := *s
	own.Unreadable = func(path string) bool {
		verdict, _ := reads(path)
		return verdict == toolset.VerdictDeny
	}
	return &own
}

// deps adds what a coding agent needs to what it has of an editor.
func (k *Kit) deps(
	s *host.Session, d deps.ACPDeps, reads func(string) (toolset.Verdict, string),
) Deps {
	files := d.Workspace.Workspace()
	if here, ok := files.(interface{ Unsandboxed() error }); ok {
		if why := here.Unsandboxed(); why != nil {
			k.unboxed.Do(func() { k.e.Say("commands run without the sandbox: %v", why) })
		}
	}
	changes := k.undo.open(s, s.ID(), files)
	s.Tie(rest{k.undo, weak.Make(s)})
	d.Workspace = workspace.NewSession(changes) // the tools work through the recorder
	d.Workspace.GuardReads(reads)
	changes.GuardReads(reads)
	return Deps{ACPDeps: d, Changes: changes, Files: files, turns: checkpoint.NewTurns(changes)}
}

// Configure fills in what a coding agent needs of its host: modes, commands, the prompts of user
// and project, prices, rules about permissions, and taking files back.
func Configure[O any](k *Kit, c *host.Config[Deps, O]) {
	commands := host.BuiltIns(modelwrap.ListPrices())
	commands = append(commands, online.Commands(k.e.Store, nil)...)
	tell := func(err error) { k.e.Say("%v", err) }
	c.Commands = append(commands, userPrompts(k.e.Name, k.e.Config, commands, tell)...)
	c.SessionCommands = func(s *host.Session) []host.Command { return projectPrompts(acpbridge.SessionOf(s)) }
	c.Prices = modelwrap.ListPrices()
	c.Kept = keeperOf(k.e.Name, k.e.Config)
	c.Layers = func(d Deps) []approval.Layer { return d.layers }
	c.Files = func(d Deps) host.Files { return d.turns }
}

// Bridge returns how the sessions are served to editors and terminals.
func (k *Kit) Bridge() acpbridge.Options {
	return acpbridge.Options{
		MCP:      k.servers,
		Unstable: true, // forks, archived sessions and more, for editors that know them
	}
}

// Notes returns the files of a session if they can be read, written and listed, and nil otherwise.
func (d Deps) Notes() workspace.Workspace {
	if d.Files == nil {
		return nil
	}
	if can := d.Files.Features(); !can.Read || !can.Write || !can.Walk {
		return nil
	}
	return d.Files
}

// Results returns where an agent spills long results, which it writes for itself: a client would
// take those for changes by the model, and ask about them. It is nil if the session cannot write
// files.
func (d Deps) Results() workspace.Workspace {
	if bridge, ok := d.Notes().(*acpbridge.Workspace); ok && bridge.Local() != nil {
		return bridge.Local()
	}
	return d.Notes()
}
