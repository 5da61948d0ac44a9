// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// project is a place on this machine: a directory with files, and links that lead out of it.
func project(t testing.TB) command.Place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root, more := filepath.Join(base, "project"), filepath.Join(base, "more")
	for _, dir := range []string{"sub/deep", "a", "b", "src", "cmd/x"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.MkdirAll(more, 0o755))
	for _, file := range []string{"a.txt", "b.txt", "go.mod", "main.go", "größe.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(base, "secret"), nil, 0o600))
	for link, target := range map[string]string{"out": "..", "passwd": "/etc/passwd", "self": ".", "dangling": "/nonexistent/x"} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	return command.Place{Roots: []string{root, more}}
}

// at returns a line in the working directory.
func at(p command.Place, line string) command.Command {
	return command.Command{Line: line, Dir: p.Roots[0]}
}

// args is at for a program with arguments that no shell reads.
func args(p command.Place, words ...string) command.Command {
	return command.Command{Args: words, Dir: p.Roots[0]}
}

// person answers questions about commands with "always", and counts them.
type person struct {
	place  command.Place
	policy approval.Policy
	asker  toolset.Asker
	asked  int
}

func newPerson(place command.Place) *person {
	p := &person{place: place}
	p.asker = approval.Remember(&p.policy, toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		p.asked++
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}})
	return p
}

// isAsked reports whether the person is asked about a command.
func (p *person) isAsked(t testing.TB, c command.Command) bool {
	t.Helper()
	before := p.asked
	d, err := p.asker.Approve(t.Context(), toolset.ApprovalRequest{
		Origin: toolset.Origin{Path: []string{"1"}, Tool: "run_command"}, Approval: p.approval(c),
	})
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictAllow, d.Verdict)
	return p.asked > before
}

func (p *person) approval(c command.Command) toolset.Approval {
	s := command.ScopeOf(c, p.place)
	return toolset.Approval{Scope: s.Scope, ScopeTitle: s.Title, Parts: s.Parts, Covers: s.Covers}
}

// covers reports whether a command is allowed without a question.
func (p *person) covers(c command.Command) bool {
	a := p.approval(c)
	return p.policy.DecideApproval("run_command", &a) == toolset.VerdictAllow
}
