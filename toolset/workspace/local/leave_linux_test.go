// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// calls has an agent call run_command with each of the arguments.
func calls(t *testing.T, w *local.Workspace, asker toolset.Asker, args ...string) (told []string) {
	t.Helper()
	var script []modeltest.Step
	for _, a := range args {
		script = append(script, modeltest.Say(model.ToolCall("c", "run_command", a)))
	}
	files := workspace.NewSession(w)
	defer files.Close(t.Context())
	a := agent.Must(agent.New(agent.Config[*workspace.Session, string]{
		Model:    modeltest.Script(append(script, modeltest.SayText("done"))...),
		Toolsets: []toolset.Toolset[*workspace.Session]{workspace.Tools(func(s *workspace.Session) *workspace.Session { return s })}, ToolRetries: new(9),
	}))
	res, err := a.Run(t.Context(), files, "go", agent.WithAsker(asker))
	require.NoError(t, err)
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				told = append(told, p.Text)
			}
		}
	}
	return told
}

// Commands in the sandbox run unasked by one answer. To leave it is asked about, and what it denies
// is told to the model, with what to ask for.
func TestCommandsAskToLeaveTheSandbox(t *testing.T) {
	w, root := sandboxed(t, local.Sandbox{MayLeave: true})
	outside := filepath.Join(t.TempDir(), "f")
	var asked []toolset.Approval
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, r.Approval)
		for _, c := range approval.Choices(&r, true) {
			if c.Decision.Scope == workspace.SandboxScope {
				return c.Decision, nil
			}
		}
		return toolset.Allow(), nil
	}}
	told := calls(t, w, approval.Remember(new(approval.Policy), person),
		`{"command":"echo 1 >in"}`, `{"command":"echo 2 >>in; echo x >/usr/ponte-was-here"}`, `{"command":"echo x >.envrc"}`,
		`{"command":"curl https://example.com || echo curl: could not resolve host: example.com; exit 6"}`,
		`{"command":"echo out >`+outside+`","sandbox":"none"}`, `{"command":"cat /proc/net/dev | wc -l","sandbox":"network"}`)
	require.Len(t, told, 6)
	data, err := os.ReadFile(filepath.Join(root, "in"))
	require.NoError(t, err)
	require.Equal(t, "1\n2\n", string(data))
	require.Contains(t, told[1], "the command ran in the sandbox, which may be why: it can write only in the working directories")
	require.Contains(t, told[1], `run it again with sandbox "none", which asks the user`)
	require.Contains(t, told[3], `it has no network. If it needs that, run it again with sandbox "network"`)
	data, err = os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "out\n", string(data))
	require.Len(t, asked, 4, "the first, the protected file, to leave the sandbox, and the network")
	require.Equal(t, workspace.SandboxScope, asked[0].Wider[0].Scope)
	require.Contains(t, approval.Text(&asked[2]), "outside of the sandbox")
	require.Contains(t, approval.Text(&asked[3]), "with the network")
	for i, kind := range map[int]model.EffectKind{0: model.EffectSandbox, 2: model.EffectOutside, 3: model.EffectHost} {
		require.True(t, func() bool {
			for _, e := range asked[i].Effects {
				if e.Kind == kind {
					return true
				}
			}
			return false
		}(), "%d %s", i, kind)
	}
	require.NoFileExists(t, "/usr/ponte-was-here")
}

func TestCommandsDoNotLeaveASandboxThatDoesNotLetThem(t *testing.T) {
	w, _ := sandboxed(t, local.Sandbox{})
	require.True(t, w.Features().Sandboxed)
	require.False(t, w.Features().Unsandboxed)
	for _, how := range []string{model.SandboxNone, model.SandboxNetwork} {
		_, err := w.Start(t.Context(), workspace.Command{Line: "true", Sandbox: how})
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	_, err := w.Start(t.Context(), workspace.Command{Line: "true", Sandbox: "x"})
	require.ErrorIs(t, err, workspace.ErrCommand)
}

// Without bubblewrap, an optional sandbox says why there is none.
func TestOptionalSandboxSaysWhyThereIsNone(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{}})
	require.ErrorIs(t, err, local.ErrSandbox)
	w, err := local.Open(local.Config{Roots: []string{t.TempDir()}, Sandbox: &local.Sandbox{Optional: true}})
	require.NoError(t, err)
	defer w.Close()
	require.ErrorIs(t, w.Unsandboxed(), local.ErrSandbox)
	require.False(t, w.Features().Sandboxed)
}
