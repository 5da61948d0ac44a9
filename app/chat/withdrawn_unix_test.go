// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// lender is a terminal that lends itself.
type lender struct{ tty.Terminal }

func (lender) Lend(f func() error) error { return f() }

// An editor works in the directory of the session, with the variables of its command, and leaves up
// to 4 MB, whatever is in them.
func TestWhatAnEditorLeaves(t *testing.T) {
	dir := writes(t)
	c := consoleIn(dir)
	c.tty = lender{}
	script := filepath.Join(writes(t), "edit")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\neval \"$EDIT\"\n"), 0o700))
	for edit, want := range map[string]string{
		"": "draft", "printf more >>$1": "draftmore", "pwd >$1": dir + "\n", `printf "a\r\nb\rc\377" >$1`: "a\nb\rc\uFFFD",
	} {
		c.config.Editor = "EDIT='" + edit + "' " + script
		got, err := c.edited(t.Context(), "draft")
		require.NoError(t, err, edit)
		require.Equal(t, want, got, edit)
	}
	for size, fails := range map[int]string{
		4 << 20: "", 4<<20 + 1: "the text has 4194305 bytes; give more than 4194304 as a file",
	} {
		c.config.Editor = fmt.Sprintf("EDIT='head -c %d /dev/zero >$1' %s", size, script)
		got, err := c.edited(t.Context(), "")
		if fails == "" {
			require.NoError(t, err)
			require.Len(t, got, size)
			continue
		}
		require.EqualError(t, err, fails)
	}
	c.config.Editor = "EDIT='rm $1' " + script
	_, err := c.edited(t.Context(), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	_, err = c.edited(t.Context(), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "none: no such file")
}

// An editor has the terminal of the program.
func TestWhatAnEditorReadsAndWrites(t *testing.T) {
	c := consoleIn(writes(t))
	c.tty = lender{}
	in, typed, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	_, err = typed.WriteString("typed")
	require.NoError(t, err)
	require.NoError(t, typed.Close())
	at := filepath.Join(c.config.Dir, "out")
	out, err := os.Create(at)
	require.NoError(t, err)
	defer out.Close()
	c.config.In, c.config.Out = in, out
	c.config.Editor = `sh -c "cat; echo ' and said'; echo complained >&2"`
	_, err = c.edited(t.Context(), "")
	require.NoError(t, err)
	data, err := os.ReadFile(at)
	require.NoError(t, err)
	require.Equal(t, "typed and said\ncomplained\n", string(data))
}

// Nothing is kept of a question that was taken back, nor of a field of a form.
func TestNothingIsKeptOfAQuestionThatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, err := reader(t, new(library)).NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/d"})
		require.NoError(t, err)
		c := consoleIn("/d")
		c.session, c.calls, c.over = session, make(chan func()), make(chan struct{})
		c.answers, c.lines = map[int]chan acp.PermissionOptionID{}, map[int]chan string{}
		defer close(c.calls)
		go func() {
			for f := range c.calls {
				f()
			}
		}()
		ctx, withdraw := context.WithCancel(t.Context())
		answered := make(chan string)
		allow := acp.PermissionOption{OptionID: "yes", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}
		for range 2 {
			go func() {
				option := c.choose(ctx, &acpclient.PermissionRequest{Options: []acp.PermissionOption{allow}})
				answered <- string(option)
			}()
		}
		synctest.Wait()
		require.Len(t, c.answers, 2)
		require.Equal(t, 2, c.asked)
		withdraw()
		require.Equal(t, []string{"", ""}, []string{<-answered, <-answered})
		synctest.Wait()
		require.Empty(t, c.answers)

		ctx, withdraw = context.WithCancel(t.Context())
		form := new(acp.ElicitationSchema)
		require.NoError(t, form.UnmarshalJSON([]byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)))
		cancelled := make(chan acpclient.Answer)
		go func() {
			a, err := c.elicit(ctx, &acpclient.Elicitation{Message: "?", Form: form})
			require.NoError(t, err)
			cancelled <- a
		}()
		synctest.Wait()
		require.Len(t, c.answers, 1)
		for _, answer := range c.answers {
			answer <- fillIn
		}
		synctest.Wait()
		require.Len(t, c.lines, 1)
		require.NotNil(t, c.lines[c.asked])
		require.Equal(t, 4, c.asked)
		withdraw()
		require.Equal(t, acpclient.Answer{Action: "cancel"}, <-cancelled)
		synctest.Wait()
		require.Empty(t, c.lines)
	})
}

// Only terminals are terminals, and the null device is none.
func TestWhichFilesAreTerminals(t *testing.T) {
	for name, want := range map[string]bool{"/dev/zero": true, os.DevNull: false, t.TempDir(): false} {
		f, err := os.Open(name)
		require.NoError(t, err)
		require.Equal(t, want, isTerminal(f), name)
		require.NoError(t, f.Close())
	}
	require.False(t, isTerminal(new(bytes.Buffer)))
}

// breaks is an input that breaks with its last byte.
type breaks struct{ left string }

func (b *breaks) Read(p []byte) (int, error) {
	n := copy(p, b.left)
	if b.left = b.left[n:]; b.left == "" {
		return n, errors.New("on fire")
	}
	return n, nil
}

// A line that is whole is one, whatever comes after it.
func TestALineBeforeTheInputBreaks(t *testing.T) {
	line, err := readLine(t.Context(), &Config{In: &breaks{"2\n"}})
	require.NoError(t, err)
	require.Equal(t, "2", line)
	_, err = readLine(t.Context(), &Config{In: &breaks{"2\n3"}})
	require.NoError(t, err)
}

// What was said before a question is shown before it, without a screen and on one.
func TestWhatWasSaidBeforeAQuestion(t *testing.T) {
	form := new(acp.ElicitationSchema)
	require.NoError(t, form.UnmarshalJSON([]byte(`{"type":"object","properties":{}}`)))
	allow := acp.PermissionOption{OptionID: "accept", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}
	r := &acpclient.PermissionRequest{Options: []acp.PermissionOption{allow}}
	e := &acpclient.Elicitation{Message: "Where?", Form: form}
	for name, ask := range map[string]func(ctx context.Context, t *talk, c *console){
		"a permission":           func(ctx context.Context, t *talk, _ *console) { _, _ = t.permission(ctx, r) },
		"a form":                 func(ctx context.Context, t *talk, _ *console) { _, _ = t.elicit(ctx, e) },
		"a permission, a screen": func(ctx context.Context, _ *talk, c *console) { _, _ = c.permission(ctx, r) },
		"a form, a screen":       func(ctx context.Context, _ *talk, c *console) { _, _ = c.elicit(ctx, e) },
	} {
		synctest.Test(t, func(t *testing.T) {
			agentIn, clientOut := acp.Pipe()
			clientIn, agentOut := acp.Pipe()
			conn := acp.NewAgentConn(agentIn, agentOut, func(*acp.AgentConn) acp.Agent { return new(library) }, nil)
			go func() { _ = conn.Serve(context.WithoutCancel(t.Context())) }()
			client, err := acpclient.Connect(t.Context(), clientIn, clientOut, acpclient.Config{})
			require.NoError(t, err)
			defer client.Close()
			session, err := client.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/d"})
			require.NoError(t, err)
			said := &acp.SessionNotification{SessionID: session.ID(), Update: acp.TextChunk("said before")}
			require.NoError(t, conn.SessionUpdate(t.Context(), said))
			synctest.Wait()

			var out bytes.Buffer
			plainly := &talk{
				config: &Config{Person: true}, session: session, out: plain.New(&out, false, "/d"),
				lines: newLines(strings.NewReader("")),
			}
			c := consoleIn("/d")
			c.session, c.calls, c.over = session, make(chan func()), make(chan struct{})
			c.answers = map[int]chan acp.PermissionOptionID{}
			go func() {
				for f := range c.calls {
					f()
				}
			}()
			ctx, withdraw := context.WithCancel(t.Context())
			asked := make(chan struct{})
			go func() {
				defer close(asked)
				ask(ctx, plainly, c)
			}()
			synctest.Wait()
			withdraw()
			<-asked
			close(c.calls)
			synctest.Wait()
			for _, l := range c.model.Transcript(60) {
				out.WriteString(l.Plain() + "\n")
			}
			require.Contains(t, out.String(), "said before", name)
			if !strings.HasSuffix(name, "screen") {
				require.Less(t, strings.Index(out.String(), "said before"), strings.Index(out.String(), "Answer with"), name)
			}
		})
	}
}
