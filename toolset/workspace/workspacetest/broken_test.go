// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"context"
	"iter"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fault is a workspace in memory that breaks the contract where a function is set.
type fault struct {
	*workspace.Memory
	roots    func([]string) []string
	features func(workspace.Features) workspace.Features
	read     func(ctx context.Context, path string, r workspace.Range) (workspace.File, error)
	write    func(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error)
	remove   func(ctx context.Context, path string, v workspace.Version) error
	stat     func(ctx context.Context, path string) (workspace.Info, error)
	walk     func(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error]
	start    func(ctx context.Context, c workspace.Command) (workspace.Process, error)
	process  func(p workspace.Process) workspace.Process
}

func (f *fault) Roots() []string {
	if f.roots != nil {
		return f.roots(f.Memory.Roots())
	}
	return f.Memory.Roots()
}

func (f *fault) Features() workspace.Features {
	if f.features != nil {
		return f.features(f.Memory.Features())
	}
	return f.Memory.Features()
}

func (f *fault) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if f.read != nil {
		return f.read(ctx, path, r)
	}
	return f.Memory.Read(ctx, path, r)
}

func (f *fault) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	if f.write != nil {
		return f.write(ctx, path, data, v)
	}
	return f.Memory.Write(ctx, path, data, v)
}

func (f *fault) Remove(ctx context.Context, path string, v workspace.Version) error {
	if f.remove != nil {
		return f.remove(ctx, path, v)
	}
	return f.Memory.Remove(ctx, path, v)
}

func (f *fault) Stat(ctx context.Context, path string) (workspace.Info, error) {
	if f.stat != nil {
		return f.stat(ctx, path)
	}
	return f.Memory.Stat(ctx, path)
}

func (f *fault) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	if f.walk != nil {
		return f.walk(ctx, dir, o)
	}
	return f.Memory.Walk(ctx, dir, o)
}

func (f *fault) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if f.start != nil {
		return f.start(ctx, c)
	}
	p, err := f.Memory.Start(ctx, c)
	if err == nil && f.process != nil {
		p = f.process(p)
	}
	return p, err
}

// badProcess is a process that breaks the contract where a function is set.
type badProcess struct {
	workspace.Process
	ref    string
	output func(ctx context.Context, from int64, limit int) (workspace.Chunk, error)
	wait   func(ctx context.Context) (workspace.Exit, error)
	kill   func(ctx context.Context) error
	close  func(ctx context.Context) error
}

func (p *badProcess) Ref() string {
	if p.ref != "" {
		return p.ref
	}
	return p.Process.Ref()
}

func (p *badProcess) Output(ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
	if p.output != nil {
		return p.output(ctx, from, limit)
	}
	return p.Process.Output(ctx, from, limit)
}

func (p *badProcess) Wait(ctx context.Context) (workspace.Exit, error) {
	if p.wait != nil {
		return p.wait(ctx)
	}
	return p.Process.Wait(ctx)
}

func (p *badProcess) Kill(ctx context.Context) error {
	if p.kill != nil {
		return p.kill(ctx)
	}
	return p.Process.Kill(ctx)
}

func (p *badProcess) Close(ctx context.Context) error {
	if p.close != nil {
		return p.close(ctx)
	}
	return p.Process.Close(ctx)
}

// outputs makes a workspace whose processes have another Output.
func outputs(change func(p workspace.Process, ctx context.Context, from int64, limit int) (workspace.Chunk, error)) func(*fault) {
	return func(f *fault) {
		f.process = func(p workspace.Process) workspace.Process {
			return &badProcess{Process: p, output: func(ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
				return change(p, ctx, from, limit)
			}}
		}
	}
}

func program(c workspace.Command) workspace.MemoryScript {
	if len(c.Args) == 0 || c.Args[0] != "program" {
		return nil
	}
	return func(ctx context.Context, sh *workspace.MemoryShell) int {
		return workspacetest.Program(ctx, workspacetest.System{
			In: strings.NewReader(""), Out: sh, Err: sh, Getenv: sh.Getenv,
			ReadFile: func(name string) ([]byte, error) { return sh.Disk.ReadFile(sh.Dir + "/" + name) },
		}, sh.Command.Args[1:])
	}
}

// faulty returns workspaces with a fault.
func faulty(set func(f *fault)) func() (*workspacetest.Env, error) {
	return func() (*workspacetest.Env, error) {
		w, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/base/project", "/more"}, Command: program, OutputLimit: 1 << 20})
		if err != nil {
			return nil, err
		}
		f := &fault{Memory: w}
		set(f)
		return &workspacetest.Env{Workspace: f, Disk: w.Disk(), Outside: "/base/outside", Program: []string{"program"}}, w.Disk().Mkdir("/base/outside")
	}
}

func TestSoundWorkspaceBreaksNoRule(t *testing.T) {
	require.Empty(t, workspacetest.Broken(t.Context(), faulty(func(*fault) {})))
}

func TestConformanceFindsEveryBrokenRule(t *testing.T) {
	found := map[string]bool{}
	all := brokenFiles()
	maps.Copy(all, brokenCommands())
	for name, faults := range all {
		for i, set := range faults {
			err := workspacetest.Rule(t.Context(), name, faulty(set))
			require.Error(t, err, "%s: fault %d was not found", name, i)
			found[name] = true
		}
	}
	for _, name := range workspacetest.Rules() {
		require.True(t, found[name], "no workspace breaks the rule %q", name)
	}
}
