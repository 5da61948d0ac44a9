// SPDX-License-Identifier: Apache-2.0

package workspacetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// TestEscapes has every path that must lead nowhere, and the links.
func TestEscapes(t *testing.T) {
	for name, c := range map[string]struct{ root, outside string }{
		"beside":  {"/base/project", "/base/outside"},
		"apart":   {"/base/deep/er/project", "/base/other/outside"},
		"windows": {`C:\base\project`, `C:\base\outside`},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{c.root}})
			require.NoError(t, err)
			var b strings.Builder
			links := workspacetest.Links(w, c.outside)
			for _, link := range slices.Sorted(maps.Keys(links)) {
				fmt.Fprintf(&b, "link %q to %q\n", link, links[link])
			}
			for _, e := range workspacetest.Escapes(w, c.outside) {
				fmt.Fprintf(&b, "%t %.200q %d\n", e.Link, e.Name, len(e.Name))
			}
			golden(t, "escapes "+name, b.String())
		})
	}
}

// TestProgram has every verb of the program, what it writes, and how it ends.
func TestProgram(t *testing.T) {
	greet := func(text string, err error) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) { return []byte(name + ": " + text), err }
	}
	for _, c := range []struct {
		args     string
		read     func(string) ([]byte, error)
		out, err string
		code     int
	}{
		{"", nil, "", "", 0},
		{"print one print two", nil, "one\ntwo\n", "", 0},
		{"raw one raw two", nil, "onetwo", "", 0},
		{"error one print two", nil, "two\n", "one\n", 0},
		{"lines 3 raw .", nil, "line 1\nline 2\nline 3\n.", "", 0},
		{"lines 0", nil, "", "", 0},
		{"env A env B", nil, "<A>\n<B>\n", "", 0},
		{"cat f raw .", greet("text", nil), "f: text.", "", 0},
		{"cat f raw .", greet("", errors.New("gone")), "", "gone\n", 1},
		{"stdin raw .", nil, "5 bytes\n.", "", 0},
		{"work raw .", greet(`"Good day, "`, nil), "ok\n", "", 0},
		{"work raw .", greet(`"Hello, "`, nil), "--- FAIL: TestGreet\n    got a text without \"Good day, \"\nFAIL\n", "", 1},
		{"work raw .", greet("", errors.New("gone")), "greet.go: cannot be read\n", "", 2},
		{"exit 0 raw .", nil, "", "", 0},
		{"exit 3 raw .", nil, "", "", 3},
		{"exit x", nil, "", "", 2},
		{"print", nil, "", "print needs an argument\n", 2},
		{"exit", nil, "", "exit needs an argument\n", 2},
		{"dance x", nil, "", "unknown verb \"dance\"\n", 2},
	} {
		var out, errs bytes.Buffer
		code := workspacetest.Program(t.Context(), workspacetest.System{
			In: strings.NewReader("12345"), Out: &out, Err: &errs, Getenv: func(name string) string { return "<" + name + ">" },
			ReadFile: c.read,
		}, strings.Fields(c.args))
		require.Equal(t, c.out, out.String(), c.args)
		require.Equal(t, c.err, errs.String(), c.args)
		require.Equal(t, c.code, code, c.args)
	}
}

// TestProgramWaits is about the verbs that take long.
func TestProgramWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		var out bytes.Buffer
		require.Equal(t, 0, workspacetest.Program(ctx, workspacetest.System{Out: &out}, []string{"wait", "print", "x", "lines", "9"}))
		require.Equal(t, time.Hour, time.Since(begin))
		require.Equal(t, "x\n", out.String(), "lines end with the context")
	})
}

// blocks notes how long the blocks are that it is written.
type blocks []int

func (b *blocks) Write(p []byte) (int, error) {
	*b = append(*b, len(p))
	return len(p), nil
}

func TestLinesAreWrittenInBlocks(t *testing.T) {
	var b blocks
	require.Equal(t, 0, workspacetest.Program(t.Context(), workspacetest.System{Out: &b}, []string{"lines", "20000"}))
	require.Equal(t, blocks{60003, 60011, 60005, 28875}, b)
}

func TestSelfIsThisProgram(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	self, err := workspacetest.Self()
	require.NoError(t, err)
	require.Equal(t, []string{exe, "-workspacetest.program"}, self)
}

// rule checks one rule of a workspace in memory that env may change.
func rule(t *testing.T, name string, set func(f *fault), change func(env *workspacetest.Env)) (says string, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := workspacetest.Rule(t.Context(), name, func() (*workspacetest.Env, error) {
			env, err := faulty(set)()
			if err == nil {
				change(env)
			}
			return env, err
		})
		if err != nil {
			says = err.Error()
		}
		took = time.Since(begin)
	})
	return says, took
}

const someRule = "AnyVersion writes whatever is there"

func TestWorkspaceThatHangsTakesTooLong(t *testing.T) {
	says, took := rule(t, someRule, func(f *fault) {
		f.write = func(ctx context.Context, _ string, _ []byte, _ workspace.Version) (workspace.Version, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
	}, func(*workspacetest.Env) {})
	require.Equal(t, "write: unexpected error: context deadline exceeded\nthe rule took too long: something hangs", says)
	require.Equal(t, 2*time.Minute, took)
}

func TestEnvironmentIsClosed(t *testing.T) {
	closed := 0
	says, _ := rule(t, someRule, func(*fault) {}, func(env *workspacetest.Env) { env.Close = func() { closed++ } })
	require.Empty(t, says)
	require.Equal(t, 1, closed)
	bad := errors.New("no disk")
	err := workspacetest.Rule(t.Context(), someRule, func() (*workspacetest.Env, error) { return nil, bad })
	require.EqualError(t, err, "new environment: no disk")
	require.ErrorIs(t, err, bad)
}

func TestPanicIsWhatIsWrong(t *testing.T) {
	says, _ := rule(t, someRule, func(f *fault) {
		f.write = func(context.Context, string, []byte, workspace.Version) (workspace.Version, error) { panic("its own") }
	}, func(*workspacetest.Env) {})
	require.Equal(t, "panic: its own", says)
}

// TestWhatCannotBePreparedIsNotChecked has disks that lack something.
func TestWhatCannotBePreparedIsNotChecked(t *testing.T) {
	wrong := func(f *fault) { // in every rule below
		f.read = func(context.Context, string, workspace.Range) (workspace.File, error) {
			return workspace.File{}, errors.New("wrong")
		}
	}
	for _, c := range []struct {
		rule string
		err  error
		says string
	}{
		{"links inside are followed", errors.ErrUnsupported, ""},
		{"links inside are followed", fs.ErrPermission, ""},
		{"links inside are followed", errors.New("disk is full"), "prepare link /base/project/dir: unexpected error: disk is full"},
		{"what is neither a file nor a directory is not opened", errors.ErrUnsupported, ""},
		{"what is neither a file nor a directory is not opened", errors.New("disk is full"), "prepare: unexpected error: disk is full"},
	} {
		says, _ := rule(t, c.rule, wrong, func(env *workspacetest.Env) { env.Disk = lacking{env.Disk, c.err} })
		require.Equal(t, c.says, says, c.rule)
	}
}

// lacking is a disk that makes no links and pipes.
type lacking struct {
	workspacetest.Disk
	err error
}

func (d lacking) Symlink(string, string) error { return d.err }
func (d lacking) Pipe(string) error            { return d.err }

// TestNoFeaturesNoRules has a workspace that can do nothing, and says so.
func TestNoFeaturesNoRules(t *testing.T) {
	for _, name := range workspacetest.Rules() {
		says, _ := rule(t, name, func(f *fault) {
			f.features = func(workspace.Features) workspace.Features { return workspace.Features{} }
		}, func(env *workspacetest.Env) { env.Workspace = incapable{env.Workspace} })
		require.Empty(t, says, name)
	}
}

// TestMissingFeaturesAreUnsupported has a workspace that denies what it can do.
func TestMissingFeaturesAreUnsupported(t *testing.T) {
	for name, c := range map[string]struct {
		deny func(*workspace.Features)
		says []string
	}{
		"read":     {func(f *workspace.Features) { f.Read = false }, []string{"read", "read of saved text", "stat"}},
		"write":    {func(f *workspace.Features) { f.Write = false }, []string{"write"}},
		"remove":   {func(f *workspace.Features) { f.Remove = false }, []string{"remove"}},
		"walk":     {func(f *workspace.Features) { f.Walk = false }, []string{"walk"}},
		"commands": {func(f *workspace.Features) { f.Commands = false }, []string{"start"}},
		"saved":    {func(f *workspace.Features) { f.Read, f.Saved = false, true }, []string{"read", "stat"}},
	} {
		says, _ := rule(t, "what the features leave out is errors.ErrUnsupported", func(f *fault) {
			f.features = func(has workspace.Features) workspace.Features { c.deny(&has); return has }
		}, func(*workspacetest.Env) {})
		var ops []string
		for _, line := range strings.Split(says, "\n") {
			op, _, _ := strings.Cut(line, ": got the error ")
			ops = append(ops, op)
			require.True(t, strings.HasSuffix(line, ", want [unsupported operation]"), line)
		}
		require.Equal(t, c.says, ops, name)
	}
}

// incapable is a workspace without features.
type incapable struct{ workspace.Workspace }

func (incapable) Read(context.Context, string, workspace.Range) (workspace.File, error) {
	return workspace.File{}, errors.ErrUnsupported
}

func (incapable) Write(context.Context, string, []byte, workspace.Version) (workspace.Version, error) {
	return "", errors.ErrUnsupported
}

func (incapable) Remove(context.Context, string, workspace.Version) error {
	return errors.ErrUnsupported
}

func (incapable) Stat(context.Context, string) (workspace.Info, error) {
	return workspace.Info{}, errors.ErrUnsupported
}

func (incapable) Walk(context.Context, string, workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) { yield(workspace.Info{}, errors.ErrUnsupported) }
}

func (incapable) Start(context.Context, workspace.Command) (workspace.Process, error) {
	return nil, errors.ErrUnsupported
}

// TestRootsAndFeaturesStay has workspaces that change their mind, or have roots that are none.
func TestRootsAndFeaturesStay(t *testing.T) {
	calls := 0
	once := func() bool { calls++; return calls == 1 }
	for name, c := range map[string]struct {
		set  func(f *fault)
		says string
	}{
		"no root": {func(f *fault) { f.roots = func([]string) []string { return nil } }, "there is no root"},
		"not clean": {func(f *fault) {
			f.roots = func([]string) []string { return []string{"/base/project", "/base/../more"} }
		},
			`root 1 is not clean: got "/more", want "/base/../more"`},
		"malformed": {func(f *fault) { f.roots = func([]string) []string { return []string{"/base\x00"} } },
			"root \"/base\\x00\": unexpected error: the path contains a NUL byte\nroot 0 is not clean: got \"\", want \"/base\\x00\""},
		"other roots": {func(f *fault) {
			f.roots = func(roots []string) []string {
				if once() {
					return roots[:1]
				}
				return roots
			}
		}, `the roots changed: got "/base/project\n/more", want "/base/project"`},
		"other features": {func(f *fault) {
			f.features = func(has workspace.Features) workspace.Features { has.Saved = calls%2 == 1; calls++; return has }
		}, ""},
	} {
		calls = 0
		says, _ := rule(t, "roots are absolute and clean and stay the same", c.set, func(*workspacetest.Env) {})
		if name == "other features" {
			require.Contains(t, says, "the features changed: got workspace.Features{", name)
			continue
		}
		require.Equal(t, c.says, says, name)
	}
}

// TestProcessesAreToldApart has processes that are not.
func TestProcessesAreToldApart(t *testing.T) {
	for want, set := range map[string]func(f *fault){
		`the reference "p" is empty or not unique`: func(f *fault) {
			f.process = func(p workspace.Process) workspace.Process { return &badProcess{Process: p, ref: "p"} }
		},
		`the output of 3: got "4", want "3"`: func(f *fault) {
			f.process = func(p workspace.Process) workspace.Process {
				return &badProcess{Process: p, output: func(ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
					c, err := p.Output(ctx, from, limit)
					if string(c.Data) == "3\n" {
						c.Data = []byte("4\n")
					}
					return c, err
				}}
			}
		},
		"output: unexpected error: bad": outputs(func(workspace.Process, context.Context, int64, int) (workspace.Chunk, error) {
			return workspace.Chunk{}, errors.New("bad")
		}),
		"start: bad": func(f *fault) {
			f.start = func(context.Context, workspace.Command) (workspace.Process, error) { return nil, errors.New("bad") }
		},
	} {
		says, _ := rule(t, "processes are told apart", set, func(*workspacetest.Env) {})
		require.Contains(t, says, want)
	}
}

// TestOneWriterWins has writers of whom not one alone wins.
func TestOneWriterWins(t *testing.T) {
	const name = "of several writers of a version one wins"
	for want, set := range map[string]func(f *fault){
		`^\d and \d wrote the version ""$`: write(func(f *fault, ctx context.Context, path string, data []byte, _ workspace.Version) (workspace.Version, error) {
			return f.Memory.Write(ctx, path, data, workspace.AnyVersion)
		}),
		`^nobody wrote the version ""$`: write(func(*fault, context.Context, string, []byte, workspace.Version) (workspace.Version, error) {
			return "", workspace.ErrChanged
		}),
		`^writer 0: got the error bad, want \[`: write(func(*fault, context.Context, string, []byte, workspace.Version) (workspace.Version, error) {
			return "", errors.New("bad")
		}),
		`^/base/project/f0 holds "by nobody" on disk, want "by \d"`: write(func(f *fault, ctx context.Context, path string, _ []byte, v workspace.Version) (workspace.Version, error) {
			return f.Memory.Write(ctx, path, []byte("by nobody"), v)
		}),
	} {
		says, _ := rule(t, name, set, func(*workspacetest.Env) {})
		require.Regexp(t, want, says)
	}
}

// TestReaderSeesTheWhole has readers that see something else.
func TestReaderSeesTheWhole(t *testing.T) {
	const name = "a reader sees the old contents or the new"
	for want, set := range map[string]func(f *fault){
		"a reader saw a part of a write: 99 bytes": read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
			got.Data = got.Data[:99]
		}),
		"a reader saw a part of a write: 65537 bytes": read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
			got.Data = bytes.Repeat([]byte("0"), 1<<16+1)
		}),
		"read during a write: unexpected error: bad": read(func(_ *fault, _ *workspace.File, err *error, _ string, _ workspace.Range) {
			*err = errors.New("bad")
		}),
	} {
		says, _ := rule(t, name, set, func(*workspacetest.Env) {})
		require.Equal(t, want, says)
	}
	n := 0
	says, _ := rule(t, name, read(func(_ *fault, got *workspace.File, _ *error, _ string, _ workspace.Range) {
		n++
		got.Data, got.Version = bytes.Repeat([]byte{byte('0' + n%10)}, 1<<16-n*100), "same"
	}), func(*workspacetest.Env) {})
	require.Equal(t, `two contents have the version "same"`, says)
}

// TestToolsLeadOutOfALeak has workspaces that lead out, and others that do not say why not.
func TestToolsLeadOutOfALeak(t *testing.T) {
	const name = "no tool leads out"
	leak := func(f *fault, path string) bool { // a path that is refused
		_, err := f.Memory.Follow(context.Background(), path)
		return err != nil
	}
	for _, c := range []struct {
		set  func(f *fault)
		says []string
	}{
		{read(func(f *fault, got *workspace.File, err *error, path string, _ workspace.Range) {
			if leak(f, path) {
				*got, *err = workspace.File{Data: []byte("secret")}, nil
			}
		}), []string{`read_file "/base/outside/secret" was not refused: secret`}},
		{read(func(f *fault, _ *workspace.File, err *error, path string, _ workspace.Range) {
			if leak(f, path) {
				*err = fs.ErrNotExist
			}
		}), []string{`edit_file "out/secret": the model was told "Could not edit out/secret: not found. Create it with write_file.", which does not say that the path is wrong`}},
		{func(f *fault) {
			f.start = func(ctx context.Context, c workspace.Command) (workspace.Process, error) {
				c.Dir = ""
				return f.Memory.Start(ctx, c)
			}
		}, []string{"run_command \"out/secret\" was not refused: [no output]\n[exit code 0]"}},
	} {
		says, _ := rule(t, name, c.set, func(*workspacetest.Env) {})
		for _, want := range c.says {
			require.Contains(t, says, want)
		}
	}
}

// TestSameWorkIsToldTheSame has what a model is told by a workspace that reads something else.
func TestSameWorkIsToldTheSame(t *testing.T) {
	says, _ := rule(t, "the same work gets the same answers", read(func(_ *fault, got *workspace.File, _ *error, path string, _ workspace.Range) {
		if strings.HasSuffix(path, "names.go") {
			got.Data = bytes.ReplaceAll(got.Data, []byte("Ada"), []byte("Eva"))
		}
	}), func(*workspacetest.Env) {})
	require.Contains(t, says, "step 13, read_file map[path:lib/names.go]: the model was told\npackage lib\r\n\r\nvar Names = []string{\"Eva\"}\r\n\nand not\npackage lib")
	says, _ = rule(t, "the same work gets the same answers", func(f *fault) {
		f.features = func(has workspace.Features) workspace.Features { has.Write = false; return has }
	}, func(*workspacetest.Env) {})
	require.Empty(t, says, "what follows a change that cannot be made is not checked")
}
