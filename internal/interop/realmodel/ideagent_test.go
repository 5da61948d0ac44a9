// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

const project = "/project"

// ideagent starts the sample agent as an IDE would, with the real model, and connects an editor that has the files to it.
func ideagent(t testing.TB, files map[string]string) *acptest.Conn {
	t.Helper()
	s := realServer(t)
	binary := filepath.Join(t.TempDir(), "ideagent")
	build := exec.Command("go", "build", "-o", binary, "./examples/ideagent")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	editor := acptest.New(acptest.Options{Files: files, Capabilities: &acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}})
	return acptest.Connect(t, editor, func(ctx context.Context, r io.Reader, w io.Writer) error {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, binary, "--bare", "--model", "openai:"+name) // the model is small
		cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+s.url, "OPENAI_API_KEY="+key)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = r, w, &stderr
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		if stderr.Len() > 0 {
			t.Logf("ideagent says: %s", bytes.TrimSpace(stderr.Bytes()))
		}
		return err
	})
}

// say sends a prompt and shows what the user of the editor sees.
func say(t testing.TB, ctx context.Context, conn *acptest.Conn, session acp.SessionID, prompt string) acp.StopReason {
	t.Helper()
	t.Logf("user:  %s", prompt)
	start := time.Now()
	stop, err := conn.Say(ctx, session, prompt)
	state := conn.Client.State(session)
	for _, call := range state.ToolCalls {
		t.Logf("call:  %s, %s, %s %s", call.Title, call.Kind, call.Status, call.RawInput)
	}
	t.Logf("agent: %s\n       (%s, %.1f s)", state.Text, stop, time.Since(start).Seconds())
	require.NoError(t, err)
	return stop
}

func TestIdeagentReadsAFileOfTheEditor(t *testing.T) {
	note := filepath.Join(project, "notes.txt")
	conn := ideagent(t, map[string]string{note: "The meeting is on Tuesday.\n"})
	ctx := patient(t)
	session, err := conn.Start(ctx, project)
	require.NoError(t, err)

	stop := say(t, ctx, conn, session, "Read the file notes.txt, then say when the meeting is.")
	assert.Equal(t, acp.StopReasonEndTurn, stop)
	state := conn.Client.State(session)
	require.NotEmpty(t, state.ToolCalls)
	call := state.ToolCalls[0]
	assert.Equal(t, acp.ToolKindRead, call.Kind)
	assert.Equal(t, acp.ToolCallStatusCompleted, call.Status)
	assert.NotEmpty(t, state.Text)

	var read []string
	for _, c := range conn.Client.Calls() {
		if params, ok := c.Params.(*acp.ReadTextFileRequest); ok {
			read = append(read, params.Path)
		}
	}
	assert.Contains(t, read, note, "the editor was asked for the file")
	assert.Empty(t, conn.Client.Violations())
}

func TestIdeagentIsCancelledWhileTheModelAnswers(t *testing.T) {
	conn := ideagent(t, nil)
	ctx := patient(t)
	session, err := conn.Start(ctx, project)
	require.NoError(t, err)
	cancelled := make(chan error, 1)
	go func() {
		err := conn.Client.Await(ctx, func(s acptest.State) bool { return s.Text != "" || len(s.ToolCalls) > 0 }, session)
		if err == nil {
			err = conn.Cancel(ctx, &acp.CancelNotification{SessionID: session})
		}
		cancelled <- err
	}()
	stop := say(t, ctx, conn, session, "Tell me a very long story about a dog. Use no tool.")
	require.NoError(t, <-cancelled)
	assert.Equal(t, acp.StopReasonCancelled, stop)

	generate(t, newModel(t), ask("What is the capital of France? Answer with the name alone.", 10), nil) // the server goes on
	assert.Empty(t, conn.Client.Violations())
}
