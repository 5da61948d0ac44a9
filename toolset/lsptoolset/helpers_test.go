// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// bench is a project with a language server, and a session that works on it.
type bench struct {
	*testing.T
	servers *lsptoolset.Servers
	session *workspace.Session
	dir     string
	set     toolset.Toolset[*workspace.Session]
	host    toolsettest.Host
	asked   []toolset.Approval
	deny    func(a *toolset.Approval) bool
}

type files map[string]string

// fakeConfig configures the fake server.
func fakeConfig(t *testing.T, mode string) lsptoolset.Config {
	program, err := os.Executable()
	require.NoError(t, err)
	return lsptoolset.Config{
		Servers: []lsptoolset.Server{{
			Name: "fake", Command: []string{program}, Files: map[string]string{".toy": "toy"}, Install: "make fake", Edits: []string{"fake.apply"},
			Env: []string{"LSP_FAKE=" + mode},
		}},
		Run:          local.Config{Grace: 100 * time.Millisecond},
		StartTimeout: 5 * time.Second, CallTimeout: 5 * time.Second, ReadyTimeout: time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func newBench(t *testing.T, c lsptoolset.Config, o lsptoolset.Options, project files) *bench {
	b := &bench{T: t, dir: t.TempDir()}
	for name, text := range project {
		b.write(name, text)
	}
	servers, err := lsptoolset.New(c)
	require.NoError(t, err)
	b.servers = servers
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	w, err := local.Open(local.Config{Roots: []string{b.dir}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	b.session = workspace.NewSession(w)
	b.set = lsptoolset.Tools(servers, func(s *workspace.Session) *workspace.Session { return s }, o)
	return b
}

func (b *bench) write(name, text string) {
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
}

func (b *bench) read(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	require.NoError(b, err)
	return string(data)
}

// call calls a tool and approves what is asked. The questions are kept.
func (b *bench) call(tool, args string) toolset.Result {
	b.Helper()
	res, err := b.try(tool, args)
	require.NoError(b, err, "%s %s", tool, args)
	return res
}

var errDenied = errors.New("denied")

func (b *bench) try(tool, args string) (toolset.Result, error) {
	run := &toolset.RunContext[*workspace.Session]{Deps: b.session, Host: &b.host}
	for range 10 {
		res, err := toolsettest.Call(b.Context(), b.set, run, tool, args)
		required, ok := errors.AsType[*toolset.ApprovalRequiredError](err)
		if !ok {
			return res, err
		}
		b.asked = append(b.asked, required.Approval)
		if b.deny != nil && b.deny(&required.Approval) {
			return res, errDenied
		}
		run.Call = toolset.Call{Approved: true, Approval: &required.Approval}
	}
	return toolset.Result{}, errors.New("asked too often")
}

// asks returns the titles of the questions since the last time.
func (b *bench) asks() (titles []string) {
	for _, a := range b.asked {
		titles = append(titles, a.Title)
	}
	b.asked = nil
	return titles
}

type (
	toolsetApproval = toolset.Approval
	toolsetOf       = toolset.Toolset[*workspace.Session]
)

// toolsIn returns the tools that a run gets.
func toolsIn(
	t *testing.T,
	set toolsetOf,
	s *workspace.Session,
) []*toolset.Tool[*workspace.Session] {
	run := &toolset.RunContext[*workspace.Session]{Deps: s}
	in, err := set.Open(t.Context(), run)
	require.NoError(t, err)
	l, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	require.NoError(t, in.Close(t.Context()))
	return l.Tools
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

type commandCall = agent.CommandCall[*workspace.Session]

func identity(s *workspace.Session) *workspace.Session { return s }

func toolsetCall(ctx context.Context, b *bench, tool, args string) (toolset.Result, error) {
	return toolsettest.Call(
		ctx,
		b.set,
		&toolset.RunContext[*workspace.Session]{Deps: b.session},
		tool,
		args,
	)
}

var nextCall atomic.Int64
