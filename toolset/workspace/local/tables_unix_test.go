// SPDX-License-Identifier: Apache-2.0

//go:build !windows && !plan9 && !js && !wasip1

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The output of a command is kept as if all of it were there and the rest cut away: the end, and a
// quarter of that of the beginning.
func TestOutputIsWhatWasWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		keep := 1 + rng.IntN(24)
		o := output{keep: keep}
		var all []byte
		for range rng.IntN(8) {
			data := make([]byte, rng.IntN(2*keep+3))
			for i := range data {
				data[i] = byte('a' + (len(all)+i)%26)
			}
			o.add(data)
			all = append(all, data...)
		}
		end := len(all)
		start := max(end-keep, 0)
		head := 0 // how much of the beginning is kept
		if start > 0 {
			head = keep / 4
		}
		for from := -end - 2; from <= end+2; from++ {
			for _, limit := range []int{0, 1, 3, keep, 3 * keep} {
				got := o.chunk(int64(from), limit)
				at := from
				if from < 0 {
					at = max(end+from, 0)
				}
				var want workspace.Chunk
				if limit > 0 && from >= 0 && at < min(start, head) {
					want = workspace.Chunk{From: int64(at), End: int64(end), Data: all[at:min(at+limit, head)]}
				} else {
					lost := at < start
					at = min(max(at, start), end)
					to := end
					if limit > 0 {
						to = min(at+limit, end)
					}
					want = workspace.Chunk{From: int64(at), End: int64(end), Lost: lost, Data: all[at:to]}
				}
				require.Equal(t, want.From, got.From, "%d of %d, keep %d", from, end, keep)
				require.Equal(t, want.End, got.End)
				require.Equal(t, want.Lost, got.Lost, "%d of %d, keep %d, limit %d", from, end, keep, limit)
				require.Equal(t, string(want.Data), string(got.Data), "%d of %d, keep %d, limit %d", from, end, keep, limit)
			}
		}
	}
}

// What a system says is told in the words of every workspace.
func TestReasonsOfSystems(t *testing.T) {
	wrap := func(err error) error { return &fs.PathError{Op: "open", Path: "/secret", Err: err} }
	for _, c := range []struct{ err, want error }{
		{wrap(syscall.ENOTDIR), workspace.ErrNotDirectory}, {wrap(syscall.EISDIR), workspace.ErrIsDirectory}, {wrap(os.ErrClosed), workspace.ErrClosed}, {wrap(errEscapes), workspace.ErrOutside}, {wrap(syscall.ENAMETOOLONG), workspace.ErrPath}, {wrap(syscall.ELOOP), workspace.ErrPath}, {&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EISDIR}, workspace.ErrIsDirectory},
		{workspace.ErrOutside, workspace.ErrOutside}, {wrap(syscall.ENOSPC), syscall.ENOSPC}, {&os.LinkError{Err: syscall.EXDEV}, syscall.EXDEV},
	} {
		err := wrapError("read", "a", c.err)
		require.ErrorIs(t, err, c.want)
		require.True(t, strings.HasPrefix(err.Error(), `workspace: read "a": `), err)
		require.NotContains(t, err.Error(), "secret")
	}
	require.NoError(t, wrapError("read", "a", nil))
	require.EqualError(t, reason(wrap(syscall.ENAMETOOLONG)), "malformed path: a name in it is too long")
	require.EqualError(t, reason(wrap(syscall.ELOOP)), "malformed path: too many symbolic links")
	require.EqualError(t, reason(wrap(syscall.ENOENT)), "no such file or directory")
	long := strings.Repeat("x", 1001)
	for want, err := range map[string]error{
		fmt.Sprintf("local: start: no such program: %q", long[:1000]): startError(long, guard.ErrNoProgram), "local: start: the command is too large for this system": startError("x", syscall.E2BIG), "local: start: on fire": startError("x", errors.New("on fire")),
	} {
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, startError("x", guard.ErrNoProgram), workspace.ErrNoProgram)
	require.ErrorIs(t, startError("x", syscall.E2BIG), workspace.ErrTooLarge)
	for _, c := range [][3]string{{"/a", "/a/b/c", "b/c"}, {"/a", "/a", "."}, {"/a", "/ab", ""}, {"/a", "/", ""}, {"/a", "/a/../b", ""}, {"/", "/a", "a"}} {
		rel, ok := relative(c[0], c[1])
		require.Equal(t, c[2] != "", ok, c)
		if ok {
			require.Equal(t, c[2], rel)
		}
	}
	require.Equal(t, []string{"a", "..", "b"}, parts("//a/./../b/"))
	require.Empty(t, parts("/./"))
}

// A lock of a file lasts as long as somebody has it or waits for it.
func TestLocksAreForgotten(t *testing.T) {
	one := lock("/a")
	other := lock("/b")
	entered := make(chan func())
	go func() { entered <- lock("/a") }()
	for {
		locks.Lock()
		users := locks.held["/a"].users
		locks.Unlock()
		if users == 2 {
			break
		}
		runtime.Gosched() // until it waits
	}
	select {
	case <-entered:
		t.Fatal("it is locked")
	default:
	}
	one()
	second := <-entered
	require.Len(t, locks.held, 2)
	second()
	other()
	require.Empty(t, locks.held)
}

// A version is a stamp once a file is old enough, and the hash of its contents before.
func TestVersionsOfFiles(t *testing.T) {
	w, err := Open(Config{Roots: []string{t.TempDir()}, NoCommands: true})
	require.NoError(t, err)
	defer w.Close()
	ctx := context.Background()
	require.False(t, w.Features().Commands)
	_, err = w.Start(ctx, workspace.Command{Line: "ls"})
	require.EqualError(t, err, "local: start: unsupported operation")
	_, err = w.Connect(ctx, workspace.Command{Args: []string{"ls"}})
	require.EqualError(t, err, "local: connect: unsupported operation")
	version, err := w.Write(ctx, "a", []byte("one\n"), "")
	require.NoError(t, err)
	require.Equal(t, hashOf([]byte("one\n")), version)
	require.Regexp(t, "^h[0-9a-f]{32}$", string(version))
	path := filepath.Join(w.real[0], "a")
	info, err := os.Stat(path)
	require.NoError(t, err)
	inode, changed, ok := identity(info)
	if !ok {
		return // this system has no stamps
	}
	for age, old := range map[time.Duration]bool{2 * time.Second: false, time.Hour: true} {
		restore := SetSettled(2500*time.Millisecond - age)
		stamp, ok := stampOf(info)
		require.Equal(t, old, ok)
		if ok {
			require.Equal(t, workspace.Version(fmt.Sprintf("s%x-4-%x-%x", inode, info.ModTime().UnixNano(), changed.UnixNano())), stamp)
			read, err := w.Read(ctx, "a", workspace.Range{Limit: 1})
			require.NoError(t, err)
			require.Equal(t, stamp, read.Version, "a part of a file has its stamp")
			stat, err := w.Stat(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, stamp, stat.Version)
			for v, want := range map[workspace.Version]error{stamp: nil, version: nil, workspace.AnyVersion: nil, "": workspace.ErrChanged, stamp + "0": workspace.ErrChanged, hashOf([]byte("two")): workspace.ErrChanged, "x": workspace.ErrChanged} {
				p, err := w.find(ctx, "a", true)
				require.NoError(t, err)
				require.ErrorIs(t, check(ctx, &p, v), want, v)
			}
		} else {
			for _, c := range []struct {
				r    workspace.Range
				want workspace.Version
			}{{workspace.Range{Limit: 4}, version}, {workspace.Range{Line: 1}, version}, {workspace.Range{Limit: 3}, ""}, {workspace.Range{Line: 2}, ""}, {workspace.Range{Lines: 1}, ""}, {workspace.Range{Offset: 1}, ""}} {
				read, err := w.Read(ctx, "a", c.r)
				require.NoError(t, err)
				require.Equal(t, c.want, read.Version, "%+v", c.r)
			}
		}
		restore()
	}
	p, err := w.find(ctx, "none", true)
	require.NoError(t, err)
	for v, want := range map[workspace.Version]error{"": nil, workspace.AnyVersion: nil, "h": workspace.ErrChanged, "s": workspace.ErrChanged} {
		require.ErrorIs(t, check(ctx, &p, v), want, v)
	}
	for path, want := range map[string]error{"none": fs.ErrNotExist, ".": workspace.ErrIsDirectory} {
		require.ErrorIs(t, w.Remove(ctx, path, workspace.AnyVersion), want)
	}
	require.ErrorIs(t, w.Remove(ctx, "none", version), workspace.ErrChanged)
	require.ErrorIs(t, w.Remove(ctx, "a", "h0"), workspace.ErrChanged)
	require.NoError(t, w.Remove(ctx, "a", version))
	require.NoError(t, os.Symlink("gone", filepath.Join(w.real[0], "link")))
	require.ErrorIs(t, w.Remove(ctx, "link", "h0"), workspace.ErrChanged)
	require.NoError(t, w.Remove(ctx, "link", workspace.AnyVersion))
	ended, cancel := context.WithCancelCause(ctx)
	because := errors.New("because")
	cancel(because)
	_, err = w.Write(ended, "b", nil, "")
	require.ErrorIs(t, err, because)
	_, err = w.Stat(ended, "b")
	require.ErrorIs(t, err, because)
}

// Both files have the same state, or there is none.
func TestFilesAreTheSame(t *testing.T) {
	dir := t.TempDir()
	stat := func(name string) fs.FileInfo {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		return info
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("x"), 0o600))
	a, b := stat("a"), stat("b")
	require.True(t, sameFile(nil, nil))
	require.False(t, sameFile(nil, a))
	require.False(t, sameFile(a, nil))
	require.True(t, sameFile(a, stat("a")))
	require.False(t, sameFile(a, b))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a"), time.Unix(1, 0), time.Unix(1, 0)))
	require.False(t, sameFile(a, stat("a")))
	a = stat("a")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("xy"), 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a"), time.Unix(1, 0), time.Unix(1, 0)))
	require.False(t, sameFile(a, stat("a")))
	for grace, want := range map[time.Duration]time.Duration{0: guard.DefaultGrace, -1: 0, time.Second: time.Second} {
		require.Equal(t, want, (&Connection{owner: &Workspace{config: &Config{Grace: grace}}}).grace())
	}
}

// A configuration has defaults, and its mistakes are named.
func TestDefaultsOfWorkspaces(t *testing.T) {
	w, err := Open(Config{})
	require.NoError(t, err)
	defer w.Close()
	require.Equal(t, 1<<20, w.config.OutputLimit)
	cwd, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, []string{cwd}, w.Roots())
	require.Equal(t, workspace.Features{Read: true, Write: true, Remove: true, Walk: true, Commands: true}, w.Features())
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{OutputLimit: -1}, "local: config: OutputLimit and TimeLimit must not be negative"}, {Config{TimeLimit: -1}, "local: config: OutputLimit and TimeLimit must not be negative"}, {Config{PassEnv: []string{"A*", "B=secret"}}, `local: config: PassEnv has "B" with a value, or an empty name: it lists names; values are in Env`}, {Config{PassEnv: []string{""}}, `local: config: PassEnv has "" with a value, or an empty name: it lists names; values are in Env`},
		{Config{Roots: []string{"/nonexistent"}}, `workspace: open "/nonexistent": no such file or directory`}, {Config{Roots: []string{"/etc/passwd"}}, `workspace: open "/etc/passwd": is not a directory`}, {Config{Roots: []string{""}}, `workspace: open "": the path is empty`},
	} {
		_, err := Open(c.config)
		require.EqualError(t, err, c.want)
	}
}
