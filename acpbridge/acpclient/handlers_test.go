// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// TestFilesOfHandlers compares what agents hear when they read and write files, what people are asked
// and how the workspace is used.
func TestFilesOfHandlers(t *testing.T) {
	var told strings.Builder
	files := map[string]string{"a.txt": "one\ntwo\nthree\n", "bin": "\xff\xfe\x00"}
	d := newDesk(t, &told, Config{}, files)
	read := func(params string) { does(d, d.h.ReadTextFile, `{"sessionId":"s",`+params+`}`) }
	write := func(path, content string) {
		does(d, d.h.WriteTextFile, fmt.Sprintf(`{"sessionId":"s","path":%q,"content":%q}`, path, content))
	}
	long := strings.Repeat("p", 101)
	for _, params := range []string{
		`"path":"/repo/a.txt"`, `"path":"/repo/a.txt","line":2`, `"path":"/repo/a.txt","line":4294967295,"limit":4294967295`, `"path":"/repo/a.txt","limit":1`, `"path":"/repo/a.txt","limit":0`,
		`"path":"/repo/none"`, `"path":"/repo"`, `"path":"/repo/bin"`, `"path":"/etc/passwd"`, `"path":"/` + long + `"`,
	} {
		read(params)
	}
	does(d, d.h.ReadTextFile, `{"sessionId":"`+long+`","path":"/repo/a.txt"}`)
	does(d, d.h.WriteTextFile, `{"sessionId":"none","path":"/repo/a.txt","content":""}`)

	d.answer = chooses("allow_once")
	write("/etc/passwd", "x")
	write("/repo/bin/x", "x")
	write("/repo/a.txt", "one\ntwo\nthree\n")
	write("/repo/a.txt", "one\n2\nthree\n")
	write("/repo/new.txt", "")
	write("/repo/.git/config", "protected")
	d.answer = chooses("reject_once")
	write("/repo/.git/config", "again")
	write("/repo/new.txt", "new\n")
	d.answer = chooses("allow_always")
	write("/repo/new.txt", "new\n")
	write("/repo/new.txt", "newer\n")
	write("/repo/other.txt", "other\n")
	d.answer = func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) { return "", nil }
	write("/repo/a.txt", "withdrawn")
	d.answer = chooses("allow_once")
	for i, err := range []error{
		fs.ErrNotExist, fs.ErrPermission, workspace.ErrOutside, workspace.ErrPath, workspace.ErrBinary, workspace.ErrTooLarge, workspace.ErrIsDirectory, workspace.ErrNotRegular, workspace.ErrNotDirectory,
		workspace.ErrNoProgram, workspace.ErrCommand, workspace.ErrChanged, &workspace.PathError{Op: "write", Path: "/repo/x", Err: workspace.ErrChanged}, errors.New("workspace: a  failure\nin two lines"),
	} {
		d.fails["read"] = err
		read(`"path":"/repo/a.txt"`)
		clear(d.fails)
		if d.fails["write"] = err; i == 0 {
			write("/repo/a.txt", "failing")
		}
	}
	d.fails["read"] = workspace.ErrTooLarge
	write("/repo/a.txt", "unread")
	clear(d.fails)

	told.WriteString("\n# the context has ended\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("because"))
	d.ctx = ctx
	d.fails["read"] = fs.ErrPermission
	write("/repo/a.txt", "ended")
	clear(d.fails)
	for range maxReading {
		d.s.client.reading <- struct{}{}
	}
	read(`"path":"/repo/a.txt"`)
	require.Len(t, d.s.client.reading, maxReading)
	for range maxReading {
		<-d.s.client.reading
	}
	d.ctx = t.Context()
	read(`"path":"/repo/a.txt","limit":1`)
	require.Empty(t, d.s.client.reading)
	require.Zero(t, d.s.waiting)

	told.WriteString("\n# without features\n")
	w := d.s.workspace.(*noting)
	w.features.Read = false
	read(`"path":"/repo/a.txt"`)
	write("/repo/a.txt", "blind\n")
	w.features = workspace.Features{Read: true}
	write("/repo/a.txt", "x")
	does(d, d.h.CreateTerminal, `{"sessionId":"s","command":"ls"}`)

	told.WriteString("\n# a trusted agent\n")
	d = newDesk(t, &told, Config{Trusted: true}, files)
	write("/repo/a.txt", "trusted\n")
	golden(t, "files.txt", told.String())
}

// TestQuestionsOfHandlers compares how questions of agents are put to people, and what agents hear.
func TestQuestionsOfHandlers(t *testing.T) {
	var told strings.Builder
	d := newDesk(t, &told, Config{}, map[string]string{"a.txt": "one\n"})
	const options = `[{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"Ever","kind":"allow_always"},{"optionId":"never","name":"Never","kind":"reject_always"}]`
	ask := func(call, options string) {
		does(d, d.h.RequestPermission, `{"sessionId":"s","toolCall":`+call+`,"options":`+options+`}`)
	}
	write := func(path, content string) {
		does(d, d.h.WriteTextFile, fmt.Sprintf(`{"sessionId":"s","path":%q,"content":%q}`, path, content))
	}
	d.answer = chooses("allow_once")
	does(d, d.h.RequestPermission, `{"sessionId":"none","toolCall":{"toolCallId":"c"},"options":`+options+`}`)
	ask(`{"toolCallId":"c"}`, `[{"optionId":"`+strings.Repeat("o", 101)+`","name":"A","kind":"allow_once"},{"optionId":"b","name":"B","kind":"reject_once"},{"optionId":"`+strings.Repeat("o", 101)+`","name":"C","kind":"reject_once"}]`)
	ask(`{"toolCallId":"c"}`, `[]`)
	for _, call := range []string{
		`{"toolCallId":"plain","title":"Plain"}`,
		`{"toolCallId":"read","title":"Read","kind":"read","locations":[{"path":"/repo/a.txt"}]}`,
		`{"toolCallId":"edit","title":"Edit","kind":"edit","locations":[{"path":"b.txt","line":3}],"content":[{"type":"diff","path":"/repo/a.txt","oldText":"one\n","newText":"1\n"},{"type":"content","content":{"type":"text","text":"said"}}]}`,
		`{"toolCallId":"new","title":"New","kind":"edit","content":[{"type":"diff","path":"/repo/.git/hooks/x","newText":"x"}]}`,
		`{"toolCallId":"term","title":"Term","kind":"execute","content":[{"type":"terminal","terminalId":"t"}]}`,
		`{"toolCallId":"odd","title":"Odd","kind":"other","content":[{"type":"aura"}]}`,
		`{"toolCallId":"image","title":"Image","kind":"read","content":[{"type":"content","content":{"type":"image","mimeType":"image/png","data":"AA=="}}]}`,
		`{"toolCallId":"run","title":"Run","kind":"execute","rawInput":{"command":"make all","cwd":"/repo/sub"}}`,
		`{"toolCallId":"args","title":"Args","kind":"execute","rawInput":{"command":["make","all"],"env":{"A":"1"}},"_meta":{"toolName":"run_command"}}`,
	} {
		ask(call, options)
	}
	// What an agent says of a call and takes back is shown with its question.
	for _, u := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"back","title":"Back","kind":"edit","rawInput":{"path":"/repo/secret"},"content":[{"type":"diff","path":"/repo/x.txt","newText":"x"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"back","kind":"read","rawInput":{},"content":[]}`,
	} {
		does(d, d.updates, `{"sessionId":"s","update":`+u+`}`)
	}
	ask(`{"toolCallId":"back","title":"Harmless"}`, options)

	told.WriteString("\n# answers\n")
	outcomes := map[string]string{}
	for what, answer := range map[string]PermissionFunc{
		"1 an unknown option": func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) {
			return acp.PermissionOptionID(strings.Repeat("x", 101)), nil
		},
		"2 an error": func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) {
			return "yes", errors.New("because")
		},
		"3 a panic":       func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) { panic("because") },
		"4 withdrawn":     func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) { return "", nil },
		"5 no":            chooses("reject_once"),
		"6 never":         chooses("reject_always"),
		"7 reject all":    RejectAll,
		"8 allow all":     AllowAll,
		"9 nobody":        nil,
		"A the turn ends": chooses("allow_once"),
	} {
		d := newDesk(t, new(strings.Builder), Config{}, nil)
		d.answer = answer
		if answer == nil {
			d.s.ask = nil
		}
		if strings.HasPrefix(what, "A") {
			d.answer = func(context.Context, *PermissionRequest) (acp.PermissionOptionID, error) {
				d.s.turn.cancel(errors.New("because"))
				return "yes", nil
			}
		}
		does(d, d.h.RequestPermission, `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"T","rawInput":{"command":"make"}},"options":`+options+`}`)
		require.Len(t, d.s.granted, map[bool]int{true: 1}[strings.HasPrefix(what, "8")], what)
		require.Zero(t, d.s.waiting)
		outcomes[what] = d.told.String()
	}
	for _, what := range slices.Sorted(maps.Keys(outcomes)) {
		fmt.Fprintf(&told, "\n## %s\n%s", what, outcomes[what])
	}

	told.WriteString("\n# what was allowed\n")
	d = newDesk(t, &told, Config{}, map[string]string{"a.txt": "one\ntwo\none\n"})
	d.answer = chooses("allow_once")
	diff := func(path, old, new string) string {
		return fmt.Sprintf(`{"type":"diff","path":%q,"oldText":%s,"newText":%q}`, path, old, new)
	}
	changes := func(all ...string) string {
		return `{"toolCallId":"c","title":"T","kind":"edit","content":[` + strings.Join(all, ",") + `]}`
	}
	ask(changes(diff("a.txt", `"two"`, "2"), diff("/repo/b.txt", "null", "b\n")), options)
	write("/repo/b.txt", "b\n")
	write("/repo/a.txt", "one\n2\none\n")
	require.Empty(t, d.s.granted[0].changes)
	ask(changes(diff("a.txt", `"one"`, "1")), options) // it is there twice
	write("/repo/a.txt", "1\n2\none\n")
	ask(changes(diff("a.txt", `""`, "1")), options)
	write("/repo/a.txt", "1")
	d.answer = chooses("allow_always")
	ask(changes(diff("a.txt", `"1"`, "always"), diff("/etc/x", "null", "outside")), options)
	d.answer = chooses("reject_once")
	write("/repo/a.txt", "anything")
	write("/repo/c.txt", "else")

	told.WriteString("\n# too many, and too large\n")
	d = newDesk(t, &told, Config{}, nil)
	d.answer = chooses("allow_once")
	d.s.waiting = maxWaiting - 1
	ask(`{"toolCallId":"last","title":"Last"}`, options)
	d.s.waiting++
	ask(`{"toolCallId":"more","title":"More"}`, options)
	write("/repo/a.txt", "more")
	d.s.waiting = 0
	d.s.turn.cancelled = true
	d.s.fold.limit, d.s.fold.size = 10, 10
	ask(`{"toolCallId":"full","title":"Full"}`, options)
	ask(`{"toolCallId":"beyond","title":"Beyond"}`, options)
	require.Equal(t, []view.Status{view.Completed, view.Completed}, d.statusOfAll(view.Question))
	golden(t, "questions.txt", told.String())
}

// updates is SessionUpdate as a request.
func (d *desk) updates(ctx context.Context, n *acp.SessionNotification) (*struct{}, error) {
	return &struct{}{}, d.h.SessionUpdate(ctx, n)
}
