// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// odd is a workspace in memory whose calls are noted, and one of which is spoiled.
type odd struct {
	*workspace.Memory
	*mischief
	left func(workspace.Process)
}

func (w *odd) Read(ctx context.Context, path string, r workspace.Range) (f workspace.File, err error) {
	args := []any{path, plain(strings.TrimPrefix(fmt.Sprintf("%+v", r), "{Line:0 Lines:0 "))}
	w.do(ctx, "Read", args, func() { f, err = w.Memory.Read(ctx, path, r) }, &f, &err)
	return f, err
}

func (w *odd) Write(ctx context.Context, path string, data []byte, v workspace.Version) (now workspace.Version, err error) {
	w.do(ctx, "Write", []any{path, data, v}, func() { now, err = w.Memory.Write(ctx, path, data, v) }, &now, &err)
	return now, err
}

func (w *odd) Remove(ctx context.Context, path string, v workspace.Version) (err error) {
	w.do(ctx, "Remove", []any{path, v}, func() { err = w.Memory.Remove(ctx, path, v) }, &err)
	return err
}

func (w *odd) Stat(ctx context.Context, path string) (i workspace.Info, err error) {
	w.do(ctx, "Stat", []any{path}, func() { i, err = w.Memory.Stat(ctx, path) }, &i, &err)
	return i, err
}

func (w *odd) Walk(ctx context.Context, dir string, o workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		var all []workspace.Info
		var last error
		w.do(ctx, "Walk", []any{dir, plain(fmt.Sprint(o.Depth, o.Details, o.Filter != nil))}, func() {
			for i, err := range w.Memory.Walk(ctx, dir, o) {
				if last = err; err == nil {
					all = append(all, i)
				}
			}
		}, &all, &last)
		for _, i := range all {
			if !yield(i, nil) {
				return
			}
		}
		if last != nil {
			yield(workspace.Info{Path: dir}, last)
		}
	}
}

func (w *odd) Start(ctx context.Context, c workspace.Command) (p workspace.Process, err error) {
	var made workspace.Process
	args := []any{c.Line, c.Args, c.Dir, c.Env}
	w.do(ctx, "Start", args, func() { made, err = w.Memory.Start(ctx, c) }, &err)
	if made == nil {
		if err == nil {
			err = errSpoiled
		}
		return nil, err
	}
	if err != nil {
		_ = made.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	w.left(made)
	return &oddProcess{made, w.mischief}, nil
}

type oddProcess struct {
	workspace.Process
	*mischief
}

func (p *oddProcess) Ref() (ref string) {
	p.do(context.Background(), "Ref", nil, func() { ref = p.Process.Ref() }, &ref)
	return ref
}

func (p *oddProcess) Output(ctx context.Context, from int64, limit int) (c workspace.Chunk, err error) {
	synctest.Wait() // the command has come as far as it can
	p.do(ctx, "Output", []any{plain(fmt.Sprint(from, limit))}, func() { c, err = p.Process.Output(ctx, from, limit) }, &c, &err)
	return c, err
}

func (p *oddProcess) Wait(ctx context.Context) (e workspace.Exit, err error) {
	p.do(ctx, "Wait", nil, func() { e, err = p.Process.Wait(ctx) }, &e, &err)
	return e, err
}

func (p *oddProcess) Kill(ctx context.Context) (err error) {
	synctest.Wait() // the command has come as far as it can
	p.do(ctx, "Kill", nil, func() { err = p.Process.Kill(ctx) }, &err)
	return err
}

func (p *oddProcess) Close(ctx context.Context) (err error) {
	synctest.Wait() // the command has come as far as it can
	if !p.do(ctx, "Close", nil, func() { err = p.Process.Close(ctx) }, &err) {
		_ = p.Process.Close(context.WithoutCancel(ctx)) // nothing else would
	}
	return err
}

// oddDisk is the disk of an odd workspace.
type oddDisk struct {
	disk *workspace.MemoryDisk
	*mischief
}

func (d oddDisk) WriteFile(path string, data []byte, mode fs.FileMode) (err error) {
	args := []any{path, data, plain(mode.String())}
	d.do(context.Background(), "disk.WriteFile", args, func() { err = d.disk.WriteFile(path, data, mode) }, &err)
	return err
}

func (d oddDisk) ReadFile(path string) (data []byte, err error) {
	d.do(context.Background(), "disk.ReadFile", []any{path}, func() { data, err = d.disk.ReadFile(path) }, &data, &err)
	return data, err
}

func (d oddDisk) Mkdir(path string) (err error) {
	d.do(context.Background(), "disk.Mkdir", []any{path}, func() { err = d.disk.Mkdir(path) }, &err)
	return err
}

func (d oddDisk) Symlink(target, path string) (err error) {
	d.do(context.Background(), "disk.Symlink", []any{target, path}, func() { err = d.disk.Symlink(target, path) }, &err)
	return err
}

func (d oddDisk) Pipe(path string) (err error) {
	d.do(context.Background(), "disk.Pipe", []any{path}, func() { err = d.disk.Pipe(path) }, &err)
	return err
}

func (d oddDisk) Remove(path string) (err error) {
	d.do(context.Background(), "disk.Remove", []any{path}, func() { err = d.disk.Remove(path) }, &err)
	return err
}

func (d oddDisk) Mode(path string) (mode fs.FileMode, err error) {
	d.do(context.Background(), "disk.Mode", []any{path}, func() { mode, err = d.disk.Mode(path) }, &mode, &err)
	return mode, err
}

// races are the rules that make calls at the same time: what they say depends on who comes first.
var races = []string{
	"of several writers of a version one wins", "a reader sees the old contents or the new",
	"a link that changes while it is used leads nowhere", "processes are told apart",
	"the same work gets the same answers", "no tool leads out", // whose searches are
}

// slow are the rules that take long: fewer of their calls are spoiled.
var slow = []string{
	"a large file is read in parts", "long output keeps its end", "a walk of many files is complete",
	"no path leads out",
}

// few are the ways in which those are spoiled.
var few = regexp.MustCompile(`^(not made|error|Data|From|slice (without|with the)|of the last Path)`)

// spoil runs a rule on a workspace with which something is wrong, and returns what the suite says.
func spoil(t *testing.T, rule string, what spoiled) (m *mischief, says string, took time.Duration) {
	m = &mischief{}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := workspacetest.Rule(t.Context(), rule, func() (*workspacetest.Env, error) {
			env, err := faulty(func(*fault) {})()
			if err != nil {
				return nil, err
			}
			memory := env.Workspace.(*fault).Memory
			m.spoil = what
			env.Disk = oddDisk{memory.Disk(), m}
			env.Workspace = &odd{memory, m, func(p workspace.Process) {
				t.Cleanup(func() { _ = p.Close(context.Background()) }) // a rule that stops leaves it
			}}
			return env, nil
		})
		if err != nil {
			says = err.Error()
		}
		took = time.Since(begin)
	})
	return m, says, took
}

// long are words that are not for people.
var long = regexp.MustCompile(`\S{200,}`)

// alike are the parts in which calls that are alike may differ.
var alike = regexp.MustCompile(`(x{60,}[a-z])?[0-9]+`)

// everyCall tells what a rule asks a store, and what the suite says of each wrong answer.
func everyCall(t *testing.T, rule string, wrong bool) string {
	sound, says, took := spoil(t, rule, spoiled{})
	require.Empty(t, says, rule)
	var b strings.Builder
	if !wrong {
		fmt.Fprintf(&b, "It takes %v.\n", took)
	}
	calls := sound.calls
	most, hasty := 2, slices.Contains(slow, rule)
	if hasty {
		most = 1
	}
	like := map[string]int{}
	for _, c := range calls {
		if !wrong {
			fmt.Fprintf(&b, "%s\n", c.text)
			continue
		}
		what := spoiled{c.method, c.text, c.nth, ""}
		form := c.method + strings.Join(c.ways, " ")
		if like[form]++; like[form] > most {
			continue
		}
		var all []string // that were noticed, in order
		ways := map[string][]string{}
		for _, what.way = range c.ways {
			if hasty && !few.MatchString(what.way) {
				continue
			}
			m, says, _ := spoil(t, rule, what)
			require.True(t, m.done, "%s: %+v", rule, what)
			if ways[says] == nil {
				all = append(all, says)
			}
			ways[says] = append(ways[says], what.way)
		}
		fmt.Fprintf(&b, "%s\n", c.text)
		for _, says := range all {
			if says != "" {
				fmt.Fprintf(&b, "  %s:\n    %s\n", strings.Join(ways[says], ", "), strings.ReplaceAll(says, "\n", "\n    "))
			}
		}
	}
	return folded(long.ReplaceAllStringFunc(b.String(), func(s string) string { return fmt.Sprintf("%.40s…(%d bytes)", s, len(s)) }))
}

// folded leaves out most calls of many that are alike.
func folded(text string) string {
	var kept []string
	lines := strings.Split(text, "\n")
	form := func(i int) string {
		if i < 0 || i >= len(lines) || strings.HasPrefix(lines[i], " ") {
			return fmt.Sprint("no call ", i)
		}
		return alike.ReplaceAllString(lines[i], "0")
	}
	left := 0
	for i, line := range lines {
		if form(i) == form(i-1) && form(i) == form(i-2) && form(i) == form(i+1) {
			left++
			continue
		}
		if left > 0 {
			kept = append(kept, fmt.Sprintf("… and %d more", left))
			left = 0
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	want := strings.Split(string(data), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			require.Equal(t, strings.Join(want[min(i, len(want)):], "\n"), line, "%s:%d; run with -update if it should be so", path, i+1)
		}
	}
	require.Len(t, strings.Split(got, "\n"), len(want), path)
}

// TestRulesAsk has what the rules ask of a workspace that keeps them.
func TestRulesAsk(t *testing.T) {
	for _, rule := range workspacetest.Rules() {
		if !slices.Contains(races, rule) {
			golden(t, rule, everyCall(t, rule, false))
		}
	}
}

// TestWrongAnswers has what the suite says when one answer to one call is wrong.
func TestWrongAnswers(t *testing.T) {
	for _, rule := range workspacetest.Rules() {
		if !slices.Contains(races, rule) {
			golden(t, "wrong/"+rule, everyCall(t, rule, true))
		}
	}
}
