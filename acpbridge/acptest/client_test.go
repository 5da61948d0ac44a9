// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

func read(t *testing.T, c *acptest.Client, path string, line, limit uint32) (string, error) {
	t.Helper()
	req := &acp.ReadTextFileRequest{SessionID: "s", Path: path}
	if line > 0 {
		req.Line = &line
	}
	if limit > 0 {
		req.Limit = &limit
	}
	resp, err := c.ReadTextFile(t.Context(), req)
	if err != nil {
		return "", err
	}
	return resp.Content, nil
}

func TestTheAgentReadsUnsavedChangesAndAWriteSaves(t *testing.T) {
	c := acptest.New(acptest.Options{Files: map[string]string{"/a": "disk"}})
	c.Type("/a", "typed")
	got, err := read(t, c, "/a", 0, 0)
	require.NoError(t, err)
	assert.Equal(t, "typed", got)
	c.SetFile("/a", "disk changed")
	got, _ = c.File("/a")
	assert.Equal(t, "typed", got)
	_, err = c.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{Path: "/a", Content: "written"})
	require.NoError(t, err)
	got, _ = c.File("/a")
	assert.Equal(t, "written", got)
	_, err = read(t, c, "/b", 0, 0)
	require.ErrorIs(t, err, acp.ErrResourceNotFound)
}

func TestLinesAreCountedFromOne(t *testing.T) {
	c := acptest.New(acptest.Options{Files: map[string]string{"/a": "1\n2\n3"}})
	for _, w := range []struct {
		line, limit uint32
		want        string
	}{{0, 0, "1\n2\n3"}, {1, 1, "1\n"}, {2, 0, "2\n3"}, {2, 1, "2\n"}, {3, 5, "3"}, {4, 1, ""}, {0, 2, "1\n2\n"}} {
		got, err := read(t, c, "/a", w.line, w.limit)
		require.NoError(t, err)
		assert.Equal(t, w.want, got)
	}
}

func TestFaultsComeWhenTheyAreToldTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.New(acptest.Options{Files: map[string]string{"/a": "a"}})
		boom := errors.New("boom")
		c.Fail(acp.MethodReadTextFile, 2, boom)
		for range 2 {
			_, err := read(t, c, "/a", 0, 0)
			require.ErrorIs(t, err, boom)
		}
		_, err := read(t, c, "/a", 0, 0)
		require.NoError(t, err)

		c.Slow(acp.MethodReadTextFile, time.Minute)
		began := time.Now()
		_, err = read(t, c, "/a", 0, 0)
		require.NoError(t, err)
		assert.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(boom)
		_, err = c.ReadTextFile(ctx, &acp.ReadTextFileRequest{Path: "/a"})
		require.ErrorIs(t, err, boom)

		c.Disconnect()
		_, err = read(t, c, "/a", 0, 0)
		require.ErrorIs(t, err, acp.ErrClosed)
		require.ErrorIs(t, c.SessionUpdate(t.Context(), &acp.SessionNotification{Update: acp.TextChunk("x")}), acp.ErrClosed)
	})
}

func TestProgramsAreFoundByLineThenBySubcommandThenByName(t *testing.T) {
	c := acptest.New(acptest.Options{Programs: map[string]acptest.Program{
		"go test ./a": acptest.Prints("line", 0), "go test": acptest.Prints("subcommand", 1), "go": acptest.Prints("program", 2),
		"crash": func(context.Context, *acptest.Process) acptest.Exit { return acptest.Exit{Signal: "SIGSEGV"} },
		"env": func(_ context.Context, p *acptest.Process) acptest.Exit {
			fmt.Fprint(p, p.Request.Env)
			return acptest.Exit{}
		},
	}})
	defer c.Close()
	run := func(command string, args ...string) (string, acp.TerminalExitStatus) {
		created, err := c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: command, Args: args})
		require.NoError(t, err)
		_, err = c.WaitForTerminalExit(t.Context(), &acp.WaitForTerminalExitRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		out, err := c.TerminalOutput(t.Context(), &acp.TerminalOutputRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		_, err = c.ReleaseTerminal(t.Context(), &acp.ReleaseTerminalRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		return out.Output, *out.ExitStatus
	}
	for _, w := range []struct {
		command string
		args    []string
		out     string
		code    uint32
	}{
		{"go", []string{"test", "./a"}, "line", 0}, {"go", []string{"test", "./b"}, "subcommand", 1}, {"go", []string{"vet"}, "program", 2}, {"go  test", nil, "subcommand", 1},
		{"sh", []string{"-c", "go test ./a"}, "line", 0}, {"sh", []string{"-c", "go vet | cat"}, "program", 2},
		{"nope", nil, "nope: command not found\n", 127},
	} {
		out, exit := run(w.command, w.args...)
		assert.Equal(t, w.out, out)
		assert.Equal(t, w.code, *exit.ExitCode)
	}
	_, exit := run("crash")
	assert.Equal(t, "SIGSEGV", *exit.Signal)
	assert.Nil(t, exit.ExitCode)
	assert.Empty(t, c.Open())
	assert.Empty(t, c.Violations())
}

func TestAKilledProgramEndsWithASignalAndTheOutputKeepsItsEnd(t *testing.T) {
	c := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"x": acptest.Runs("0123456789")}})
	created, err := c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "x", OutputByteLimit: new(uint64(4))})
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, c.Open())
	_, err = c.KillTerminal(t.Context(), &acp.KillTerminalRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	out, err := c.TerminalOutput(t.Context(), &acp.TerminalOutputRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	assert.Equal(t, "SIGKILL", *out.ExitStatus.Signal)
	assert.Equal(t, "6789", out.Output)
	assert.True(t, out.Truncated)
	c.Close()
	_, err = c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "x"})
	require.Error(t, err)
}

func TestTheUserAnswersAsScripted(t *testing.T) {
	c := acptest.New(acptest.Options{
		Answers:    []acptest.Answer{acptest.RejectAlways, acptest.Dismiss},
		Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer { return acptest.AllowAlways },
	})
	d := c.Deps("/p")
	require.NoError(t, d.Tracker.Start(t.Context(), acp.ToolCall{ToolCallID: "c", Title: "T"}))
	req := &acp.RequestPermissionRequest{SessionID: d.Session.ID, ToolCall: d.Tracker.Snapshot("c"), Options: []acp.PermissionOption{
		{OptionID: "1", Kind: acp.PermissionOptionKindAllowAlways}, {OptionID: "2", Kind: acp.PermissionOptionKindRejectAlways},
	}}
	var chosen []acp.PermissionOptionID
	for range 3 {
		resp, err := c.RequestPermission(t.Context(), req)
		require.NoError(t, err)
		if resp.Outcome.Cancelled != nil {
			chosen = append(chosen, "cancelled")
			continue
		}
		chosen = append(chosen, resp.Outcome.Selected.OptionID)
	}
	assert.Equal(t, []acp.PermissionOptionID{"2", "cancelled", "1"}, chosen)
	assert.Empty(t, c.Violations())
}

func TestWhatAnAgentMustNotDoIsAViolation(t *testing.T) {
	ctx := t.Context()
	call := func(id string, status acp.ToolCallStatus) acp.SessionUpdate {
		return acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: acp.ToolCallID(id), Title: "T", Status: status}}
	}
	update := func(id string, status acp.ToolCallStatus) acp.SessionUpdate {
		return acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Status: status}}
	}
	option := acp.PermissionOption{OptionID: "1"}
	ask := func(c *acptest.Client, options ...acp.PermissionOption) {
		_, _ = c.RequestPermission(ctx, &acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{ToolCallID: "c"}, Options: options})
	}
	for want, do := range map[string]func(*acptest.Client, func(...acp.SessionUpdate)){
		`tool call "c" announced twice`:                         func(_ *acptest.Client, send func(...acp.SessionUpdate)) { send(call("c", ""), call("c", "")) },
		`update of tool call "c", which has not been announced`: func(_ *acptest.Client, send func(...acp.SessionUpdate)) { send(update("c", "")) },
		`update of tool call "c", which has ended`: func(_ *acptest.Client, send func(...acp.SessionUpdate)) {
			send(call("c", "completed"), update("c", ""))
		},
		`status of tool call "c" went from in_progress to pending`: func(_ *acptest.Client, send func(...acp.SessionUpdate)) {
			send(call("c", "in_progress"), update("c", "pending"))
		},
		`tool call "c" has no title`: func(_ *acptest.Client, send func(...acp.SessionUpdate)) {
			send(acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "c"}})
		},
		`permission for tool call "c", which has not been announced`: func(c *acptest.Client, _ func(...acp.SessionUpdate)) { ask(c, option) },
		`permission for tool call "c", which has ended`: func(c *acptest.Client, send func(...acp.SessionUpdate)) {
			send(call("c", "failed"))
			ask(c, option)
		},
		`permission for tool call "c" without options`: func(c *acptest.Client, send func(...acp.SessionUpdate)) {
			send(call("c", ""))
			ask(c)
		},
		`permission for tool call "c": option "1" twice`: func(c *acptest.Client, send func(...acp.SessionUpdate)) {
			send(call("c", ""))
			ask(c, option, option)
		},
		`fs/read_text_file: the path "a" is not absolute`: func(c *acptest.Client, _ func(...acp.SessionUpdate)) {
			_, _ = c.ReadTextFile(ctx, &acp.ReadTextFileRequest{Path: "a"})
		},
		`terminal/release: terminal "x" is not open`: func(c *acptest.Client, _ func(...acp.SessionUpdate)) {
			_, err := c.ReleaseTerminal(ctx, &acp.ReleaseTerminalRequest{TerminalID: "x"})
			assert.Error(t, err)
		},
	} {
		c := acptest.New(acptest.Options{})
		do(c, func(updates ...acp.SessionUpdate) {
			for _, u := range updates {
				require.NoError(t, c.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: u}))
			}
		})
		assert.Equal(t, []string{want}, c.Violations())
	}
	c := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{}})
	_, _ = c.ReadTextFile(ctx, &acp.ReadTextFileRequest{Path: "/a"})
	_, _ = c.CreateTerminal(ctx, &acp.CreateTerminalRequest{Command: "x"})
	c.Close()
	assert.Len(t, c.Violations(), 2)
}

func TestUpdatesFoldIntoWhatTheUserSees(t *testing.T) {
	c := acptest.New(acptest.Options{})
	ctx := t.Context()
	send := func(session acp.SessionID, u acp.SessionUpdate) {
		require.NoError(t, c.SessionUpdate(ctx, &acp.SessionNotification{SessionID: session, Update: u}))
	}
	send("1", acp.ThoughtChunk("hm"))
	send("1", acp.TextChunk("a"))
	send("2", acp.TextChunk("other"))
	send("1", acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "c", Title: "T"}})
	send("1", acp.TextChunk("b"))
	send("1", acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "c", Status: acp.ToolCallStatusCompleted, Title: new("T2")}})
	send("1", acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "plan"}})
	s := c.State("1")
	assert.Equal(t, "ab", s.Text)
	assert.Equal(t, "hm", s.Thoughts)
	assert.Equal(t, acp.SessionModeID("plan"), s.Mode)
	assert.Equal(t, acp.ToolCall{ToolCallID: "c", Title: "T2", Status: acp.ToolCallStatusCompleted}, *s.ToolCall("c"))
	assert.Nil(t, s.ToolCall("x"))
	assert.Equal(t, "other", c.State("2").Text)
	assert.Len(t, c.Updates(), 7)
}

func TestAwaitEndsWithTheConditionOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.New(acptest.Options{})
		time.AfterFunc(time.Second, func() {
			_ = c.SessionUpdate(t.Context(), &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk("done")})
		})
		require.NoError(t, c.Await(t.Context(), func(s acptest.State) bool { return s.Text == "done" }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.Await(ctx, func(acptest.State) bool { return false }), context.DeadlineExceeded)
	})
}
