// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/offline"
)

// ide is an editor that talks to the agent, with the offline model, over the protocol.
type ide struct {
	*acptest.Client
	t       *testing.T
	conn    *acptest.Conn
	dir     string
	session acp.SessionID
}

// serve serves the agent with a model instead of the user's, and with a store, nil for none.
func serve(m model.Model, store sessions.Store, args ...string) func(ctx context.Context, r io.Reader, w io.Writer) error {
	return func(ctx context.Context, r io.Reader, w io.Writer) error {
		c, said := Config(), new(paper)
		c.Demo = func(time.Duration) model.Model { return m }
		if args = append([]string{"-model", "offline"}, args...); store == nil {
			args = append(args, "-no-store")
		} else {
			c.Store = func(context.Context, *app.Env) (sessions.Store, error) { return store, nil }
		}
		if code := app.Run(ctx, c, app.Process{Args: args, In: r, Out: w, Err: said}); code != 0 && ctx.Err() == nil {
			return fmt.Errorf("exit code %d: %s", code, said)
		}
		return nil
	}
}

// openIDE opens a session in a directory with a file. Editors work on files of the disk, which the agent lists and searches there.
func openIDE(t *testing.T, files, programs map[string]string) *ide {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	e := &ide{t: t, dir: dir}
	o := acptest.Options{Files: map[string]string{}, OnDisk: true, Programs: map[string]acptest.Program{}}
	for name, text := range files {
		o.Files[filepath.Join(dir, name)] = text
	}
	for line, output := range programs {
		o.Programs[line] = acptest.Prints(output, 0)
	}
	e.Client = acptest.New(o)
	t.Cleanup(e.Close)
	e.conn = acptest.Connect(t, e.Client, serve(offline.New(offline.Config{}), nil))
	e.session, err = e.conn.Start(t.Context(), dir)
	require.NoError(t, err)
	return e
}

// say sends a prompt and returns what the agent said, and the calls that it made of the editor.
func (e *ide) say(prompt string) (said string, calls []string) {
	e.t.Helper()
	text, made := len(e.State().Text), len(e.Calls())
	reason, err := e.conn.Say(e.t.Context(), e.session, prompt)
	require.NoError(e.t, err)
	require.EqualValues(e.t, "end_turn", reason)
	for _, c := range e.Calls()[made:] {
		calls = append(calls, c.Method)
	}
	return e.State().Text[text:], calls
}

// file returns what the editor has of a file, "-" for none.
func (e *ide) file(name string) string {
	text, ok := e.File(filepath.Join(e.dir, name))
	if !ok {
		return "-"
	}
	return text
}

func TestUndoInAnIDE(t *testing.T) {
	e := openIDE(t, map[string]string{"a.txt": "1\n2\n3\n4\n"}, map[string]string{"touch x": ""})
	e.say("replace 1 with one in a.txt")
	said, _ := e.say(`replace one with uno in a.txt and create b.txt with "new"`)
	require.Contains(t, said, "Wrote `b.txt`")
	e.Type(filepath.Join(e.dir, "a.txt"), "uno\n2\n3\nfour\n") // the user, who has not saved

	asked := len(e.Permissions())
	said, _ = e.say("undo")
	require.Equal(t, "Restored a.txt.\nRemoved b.txt.\n\n", said)
	require.Equal(t, "one\n2\n3\nfour\n", e.file("a.txt"), "what the user typed stays")
	require.Equal(t, "-", e.file("b.txt"), "what was created is removed from the disk")
	require.Len(t, e.Permissions(), asked+1)
	shown := e.Permissions()[asked].ToolCall.Content
	require.Equal(t, "uno\n2\n3\nfour\n", *shown[0].Diff.OldText)
	require.Equal(t, "one\n2\n3\nfour\n", shown[0].Diff.NewText, "the user is shown what is written")

	e.say("redo")
	require.Equal(t, "uno\n2\n3\nfour\n", e.file("a.txt"))
	said, _ = e.say("use list_changes {}")
	require.Contains(t, said, "Checkpoint 1 (replace 1 with one in a.txt):\n  changed a.txt (+1 -1)\nCheckpoint 2 (replace one with uno in a.txt and create b.txt with \"new\"):\n  changed a.txt (+1 -1)\n  created b.txt (+1 -0)\n")
	require.Empty(t, e.Violations())
}

func TestOfflineModelInAnIDE(t *testing.T) {
	e := openIDE(t, map[string]string{"go.mod": "module x\n"}, map[string]string{"go test ./...": "ok\n", "git status": "nothing to commit\n"})

	said, calls := e.say("create a file hello.py that prints hello")
	for _, method := range calls {
		require.Equal(t, "fs/read_text_file", method, "the instructions of the project are looked for, and nothing else is done")
	}
	require.Equal(t, "-", e.file("hello.py"))
	require.Len(t, strings.Split(strings.TrimSpace(said), "\n"), 2)
	require.Contains(t, said, "I did not understand `that prints hello`")

	said, _ = e.say(`create notes.txt with "one"`)
	require.Contains(t, said, "Wrote `notes.txt`: 1 line.")
	require.Equal(t, "one\n", e.file("notes.txt"))

	said, calls = e.say("replace one with two in notes.txt")
	require.Contains(t, said, "Replaced `one` with `two` in `notes.txt`")
	require.Equal(t, "two\n", e.file("notes.txt"))
	require.Contains(t, calls, "session/request_permission")

	said, calls = e.say("run the tests")
	require.Contains(t, said, "There is a `go.mod`, so the tests are run with `go test ./...`.")
	require.Contains(t, said, "I ran `go test ./...`: exit code 0:\n\n```\nok\n```")
	require.Contains(t, calls, "terminal/create")

	said, _ = e.say("again")
	require.Contains(t, said, "I ran `go test ./...`: exit code 0")
	said, _ = e.say("git status")
	require.Contains(t, said, "nothing to commit")

	said, _ = e.say("use `list_files {\"pattern\": \"*.mod\"}`")
	require.Contains(t, said, "I used `list_files`:\n\n```\ngo.mod\n```")
	said, _ = e.say(`use read_file {"path": "notes.txt", "line": 1}`)
	require.Contains(t, said, "two")
	said, _ = e.say(`use frobnicate {}`)
	require.Contains(t, said, "there is no tool `frobnicate` here. The tools are read_file, ")

	require.Empty(t, e.Violations())
	require.Empty(t, e.Open())
}
