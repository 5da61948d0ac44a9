// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// distant is an editor on another machine. It answers as the test says, and writes down what it is asked.
type distant struct {
	acp.UnimplementedClient
	t      *testing.T
	asked  []string
	answer func(ctx context.Context, method string) (string, error) // JSON of the result
}

func asks[R any](ctx context.Context, e *distant, method string, req any) (*R, error) {
	data, err := json.Marshal(req)
	require.NoError(e.t, err)
	e.asked = append(e.asked, method+" "+string(data))
	text, err := e.answer(ctx, method)
	if err != nil {
		return nil, err
	}
	resp := new(R)
	require.NoError(e.t, json.Unmarshal([]byte(text), resp))
	return resp, nil
}

func (e *distant) ReadTextFile(ctx context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	return asks[acp.ReadTextFileResponse](ctx, e, "read", r)
}

func (e *distant) CreateTerminal(ctx context.Context, r *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	return asks[acp.CreateTerminalResponse](ctx, e, "create", r)
}

func (e *distant) TerminalOutput(ctx context.Context, r *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	return asks[acp.TerminalOutputResponse](ctx, e, "output", r)
}

func (e *distant) WaitForTerminalExit(ctx context.Context, r *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	return asks[acp.WaitForTerminalExitResponse](ctx, e, "wait", r)
}

func (e *distant) KillTerminal(ctx context.Context, r *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	return asks[acp.KillTerminalResponse](ctx, e, "kill", r)
}

func (e *distant) ReleaseTerminal(ctx context.Context, r *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	return asks[acp.ReleaseTerminalResponse](ctx, e, "release", r)
}

func (e *distant) take() []string {
	all := e.asked
	e.asked = nil
	return all
}

// away returns the workspace of a session on another machine.
func away(t *testing.T, answer func(ctx context.Context, method string) (string, error)) (*distant, *acpbridge.Workspace) {
	t.Helper()
	e := &distant{t: t, answer: answer}
	s := &deps.Session{ID: "s", Cwd: "/no/such/machine"}
	s.Capabilities.FS.ReadTextFile, s.Capabilities.FS.WriteTextFile, s.Capabilities.Terminal = true, true, true
	w, err := acpbridge.NewWorkspace(deps.ACPDeps{Client: e, Session: s}, acpbridge.LocalFallback{})
	require.NoError(t, err)
	return e, w
}

// TestFailuresOfEditorsAreUnderstood has what editors say of files and commands that they cannot handle.
func TestFailuresOfEditorsAreUnderstood(t *testing.T) {
	says := func(code int, message string, data ...string) error {
		e := &acp.Error{Code: code, Message: message}
		if len(data) > 0 {
			e.Data = json.RawMessage(data[0])
		}
		return e
	}
	var failure error
	_, w := away(t, func(context.Context, string) (string, error) { return "", failure })
	for _, c := range []struct {
		err     error
		is      error
		reads   string // what is said of a file, after the path
		starts  string
		program bool // it is a program that does not exist
	}{
		{says(acp.CodeResourceNotFound, "gone"), fs.ErrNotExist, "file does not exist", "gone", true},
		{says(acp.CodeInternal, "Internal error", `"ENOENT: no such file"`), fs.ErrNotExist, "file does not exist", `Internal error "ENOENT: no such file"`, true},
		{says(acp.CodeInternal, "File Not Found"), fs.ErrNotExist, "file does not exist", "File Not Found", true},
		{says(acp.CodeInternal, "NoSuchFile"), fs.ErrNotExist, "file does not exist", "NoSuchFile", true},
		{says(acp.CodeInternal, "fileNotFound"), fs.ErrNotExist, "file does not exist", "fileNotFound", true},
		{says(acp.CodeInternal, "It does not exist."), fs.ErrNotExist, "file does not exist", "It does not exist.", true},
		{says(acp.CodeInternal, "Cannot find the path"), fs.ErrNotExist, "file does not exist", "Cannot find the path", true},
		{says(acp.CodeInternal, "Cannot find the file"), fs.ErrNotExist, "file does not exist", "Cannot find the file", true},
		{says(acp.CodeMethodNotFound, "Method not found"), errors.ErrUnsupported, "unsupported operation: acp: Method not found (-32601)", "unsupported operation: acp: Method not found (-32601)", false},
		{&acp.TooLongError{Limit: 7}, ws.ErrTooLarge, "", "", false},
		{acp.ErrClosed, ws.ErrLost, "", "", false},
		{acp.ErrAnswered, ws.ErrLost, "", "", false},
		{says(acp.CodeInternal, "two\n lines", `{"a": 1}`), nil, `two lines {"a": 1}`, `two lines {"a": 1}`, false},
		{says(acp.CodeInternal, "long", `"`+strings.Repeat("x", 498)+`"`), nil, `long "` + strings.Repeat("x", 498) + `"`, `long "` + strings.Repeat("x", 498) + `"`, false},
		{says(acp.CodeInternal, "long", `"`+strings.Repeat("x", 499)+`"`), nil, "long", "long", false},
		{errors.New("odd\nerror"), nil, "odd", "odd", false},
	} {
		failure = c.err
		for _, r := range []ws.Range{{}, {Line: 2, Lines: 3}} {
			_, err := w.Read(t.Context(), "/no/such/machine/a", r)
			var at *ws.PathError
			require.ErrorAs(t, err, &at, "%v", c.err)
			require.Equal(t, []string{"read", "/no/such/machine/a"}, []string{at.Op, at.Path})
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			if c.reads != "" {
				require.Equal(t, c.reads, at.Err.Error(), "%v", r)
			}
		}
		_, err := w.Start(t.Context(), ws.Command{Line: "make"})
		require.Equal(t, c.program, errors.Is(err, ws.ErrNoProgram), "%v", err)
		var of *ws.CommandError
		switch {
		case c.program:
			require.EqualError(t, err, "acpbridge: start: "+ws.ErrNoProgram.Error()+": "+c.starts)
		case c.starts != "":
			require.ErrorAs(t, err, &of)
			require.Equal(t, []string{"start", "sh", c.starts}, []string{of.Op, of.Ref, of.Err.Error()})
		default:
			require.ErrorIs(t, err, c.is)
		}
	}
	e := &distant{t: t}
	none, err := acpbridge.NewWorkspace(deps.ACPDeps{Client: e, Session: &deps.Session{ID: "s", Cwd: "/no/such/machine"}}, acpbridge.LocalFallback{})
	require.NoError(t, err)
	_, err = none.Start(t.Context(), ws.Command{Line: "make"})
	require.EqualError(t, err, "acpbridge: start: unsupported operation")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = none.Read(t.Context(), "a", ws.Range{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	for _, err := range none.Walk(t.Context(), "/no/such/machine", ws.WalkOptions{}) {
		require.EqualError(t, err, "acpbridge: walk: unsupported operation")
	}
	require.Empty(t, e.asked)
	_, err = w.Start(t.Context(), ws.Command{})
	require.ErrorContains(t, err, "acpbridge: start: ")
	_, err = w.Start(t.Context(), ws.Command{Line: "make", Dir: "/etc"})
	require.ErrorIs(t, err, ws.ErrOutside)
	for _, local := range []acpbridge.LocalFallback{{Files: true, Prefer: acpbridge.Prefer{Files: true}}, {Commands: true, Prefer: acpbridge.Prefer{Commands: true}}} {
		s := &deps.Session{ID: "s", Cwd: `Z:\no\such\machine`}
		_, err = acpbridge.NewWorkspace(deps.ACPDeps{Client: e, Session: s}, local)
		require.Error(t, err, "this machine does not have the directory")
	}
}

// TestLinesAreAskedFor has ranges of a file, with what the editor is asked for.
func TestLinesAreAskedFor(t *testing.T) {
	lines := `{"content":"2\n3\n"}`
	e, w := away(t, func(context.Context, string) (string, error) { return lines, nil })
	f, err := w.Read(t.Context(), "a", ws.Range{Line: 2, Lines: 2})
	require.NoError(t, err)
	require.Equal(t, "2\n3\n", string(f.Data))
	require.Equal(t, []string{`read {"sessionId":"s","path":"/no/such/machine/a","line":2,"limit":2}`}, e.take())
	_, err = w.Read(t.Context(), "a", ws.Range{Lines: 2})
	require.NoError(t, err)
	require.Equal(t, []string{`read {"sessionId":"s","path":"/no/such/machine/a","limit":2}`}, e.take())
	f, err = w.Read(t.Context(), "a", ws.Range{Lines: 1})
	require.NoError(t, err)
	require.Equal(t, ws.File{Info: ws.Info{Path: "/no/such/machine/a", Size: -1}, Data: []byte("2\n")}, f)
	require.Equal(t, []string{`read {"sessionId":"s","path":"/no/such/machine/a","limit":1}`}, e.take())
	f, err = w.Read(t.Context(), "a", ws.Range{Line: 1})
	require.NoError(t, err)
	require.NotEmpty(t, f.Version, "it is the whole file")
	require.EqualValues(t, 4, f.Size)
	require.Equal(t, []string{`read {"sessionId":"s","path":"/no/such/machine/a"}`}, e.take())

	// Behind the end some editors say nothing, and others fail: then the whole file is read.
	for _, answer := range []string{`{"content":""}`, ""} {
		first := true
		e.answer = func(context.Context, string) (string, error) {
			if first {
				if first = false; answer == "" {
					return "", &acp.Error{Code: acp.CodeInternal, Message: "out of range"}
				}
				return answer, nil
			}
			return `{"content":"1\n2\n3\n"}`, nil
		}
		f, err = w.Read(t.Context(), "a", ws.Range{Line: 9, Lines: 2})
		require.NoError(t, err)
		require.Empty(t, f.Data)
		require.Equal(t, []string{`read {"sessionId":"s","path":"/no/such/machine/a","line":9,"limit":2}`, `read {"sessionId":"s","path":"/no/such/machine/a"}`}, e.take())
	}
}

// TestCommandsOfEditorsFromStartToEnd has a command in a terminal of an editor, which drops the beginning of the output.
func TestCommandsOfEditorsFromStartToEnd(t *testing.T) {
	answers := map[string]string{"create": `{"terminalId":"t"}`, "kill": `{}`, "release": `{}`}
	e, w := away(t, func(_ context.Context, method string) (string, error) {
		if text, ok := answers[method]; ok {
			return text, nil
		}
		return "", errors.New("no " + method)
	})
	start := func() ws.Process {
		t.Helper()
		p, err := w.Start(t.Context(), ws.Command{Args: []string{"make", "all"}, Dir: "sub", Env: []string{"A=1", "B=2=3", "A=4"}})
		require.NoError(t, err)
		require.Equal(t, "t", p.Ref())
		require.Equal(t, []string{`create {"sessionId":"s","command":"make","args":["all"],"env":[{"name":"B","value":"2=3"},{"name":"A","value":"4"}],"cwd":"/no/such/machine/sub","outputByteLimit":1048576}`}, e.take())
		return p
	}
	p := start()
	output := func(text string, truncated bool) {
		answers["output"] = string(mustJSON(t, map[string]any{"output": text, "truncated": truncated}))
	}
	read := func(from int64, limit int) string {
		t.Helper()
		c, err := p.Output(t.Context(), from, limit)
		require.NoError(t, err)
		return fmt.Sprintf("%s %d-%d lost %v ended %v", c.Data, c.From, c.End, c.Lost, c.Exit != nil)
	}
	output("abcdef", false)
	require.Equal(t, "abcdef 0-6 lost false ended false", read(0, 0))
	require.Equal(t, "cde 2-6 lost false ended false", read(2, 3))
	require.Equal(t, "ef 4-6 lost false ended false", read(-2, 0))
	require.Equal(t, "abcdef 0-6 lost false ended false", read(-9, 0))
	require.Equal(t, " 6-6 lost false ended false", read(9, 0))
	require.Equal(t, "abcdef 0-6 lost false ended false", read(0, 9))
	require.Equal(t, "a 0-6 lost false ended false", read(0, 1))
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %02d\n", i)
	}
	all := text.String()
	output(all[:600], false)
	require.Equal(t, " 600-600 lost false ended false", read(600, 0))
	output(all[100:700], true)
	require.Equal(t, all[100:110]+" 100-700 lost true ended false", read(0, 10), "what was seen last shows how much is lost")
	require.Equal(t, all[600:700]+" 600-700 lost false ended false", read(600, 0))
	output("xyz", true)
	require.Equal(t, "xyz 700-703 lost true ended false", read(0, 0), "at least what is missing")
	require.Equal(t, []string{`output {"sessionId":"s","terminalId":"t"}`}, e.take()[:1])
	answers["output"] = `{"output":"z","truncated":false,"exitStatus":{"exitCode":3}}`
	_ = read(0, 0)
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, []string{`output {"sessionId":"s","terminalId":"t"}`, `release {"sessionId":"s","terminalId":"t"}`}, e.take(), "a command that has ended is not killed")

	for answer, want := range map[string]ws.Exit{
		`{"exitCode":0}`: {}, `{"exitCode":7}`: {Code: 7}, `{"signal":"KILL"}`: {Code: -1, Signal: "KILL"}, `{"exitCode":1,"signal":"TERM"}`: {Code: -1, Signal: "TERM"}, `{"exitCode":2,"signal":""}`: {Code: 2}, `{}`: {Code: -1},
	} {
		p = start()
		answers["wait"] = answer
		got, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{want.Code, want.Signal}, []any{got.Code, got.Signal}, answer)
		answers["wait"] = `{"exitCode":99}`
		again, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, got, again, "how it ended does not change")
		require.NoError(t, p.Close(t.Context()))
		e.take()
	}

	p = start()
	require.NoError(t, p.Kill(t.Context()))
	require.NoError(t, p.Close(t.Context()))
	require.NoError(t, p.Close(t.Context()), "further calls do nothing")
	require.NoError(t, p.Kill(t.Context()))
	require.Equal(t, []string{`kill {"sessionId":"s","terminalId":"t"}`, `kill {"sessionId":"s","terminalId":"t"}`, `release {"sessionId":"s","terminalId":"t"}`}, e.take())
	for op, f := range map[string]func() error{
		"output": func() error { _, err := p.Output(t.Context(), 0, 0); return err }, "wait": func() error { _, err := p.Wait(t.Context()); return err },
	} {
		var of *ws.CommandError
		require.ErrorAs(t, f(), &of)
		require.Equal(t, []string{op, "t"}, []string{of.Op, of.Ref})
		require.ErrorIs(t, f(), ws.ErrClosed)
	}
	require.Empty(t, e.take())
	clear(answers)
	answers["create"] = `{"terminalId":"t"}`
	p = start()
	for op, f := range map[string]func() error{
		"output": func() error { _, err := p.Output(t.Context(), 0, 0); return err }, "wait": func() error { _, err := p.Wait(t.Context()); return err },
		"kill": func() error { return p.Kill(t.Context()) },
	} {
		var of *ws.CommandError
		require.ErrorAs(t, f(), &of)
		require.Equal(t, []string{op, "t", "no " + op}, []string{of.Op, of.Ref, of.Err.Error()})
	}
	var of *ws.CommandError
	require.ErrorAs(t, p.Close(t.Context()), &of)
	require.Equal(t, []string{"close", "t", "no release"}, []string{of.Op, of.Ref, of.Err.Error()})
}

func mustJSON(t *testing.T, v any) []byte {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// TestEditorsThatDoNotAnswerHoldUpNobody has an editor that answers nothing when a terminal is closed: the command is given up after a
// second, and the terminal after two.
func TestEditorsThatDoNotAnswerHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []string
		began := time.Now()
		_, w := away(t, func(ctx context.Context, method string) (string, error) {
			if method == "create" {
				return `{"terminalId":"t"}`, nil
			}
			<-ctx.Done()
			times = append(times, fmt.Sprint(method, " ", time.Since(began)))
			return "", context.Cause(ctx)
		})
		p, err := w.Start(t.Context(), ws.Command{Line: "make"})
		require.NoError(t, err)
		require.Error(t, p.Close(t.Context()))
		require.Equal(t, []string{"kill 1s", "release 2s"}, times)
	})
}
