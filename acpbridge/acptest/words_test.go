// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestReplaysSayWhatDiffers compares with a record what replays of each side send and say, for what comes from the other side. Run it with
// -update to make the record anew, and read it.
func TestReplaysSayWhatDiffers(t *testing.T) {
	const (
		initialize = `client {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
		version    = `agent {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`
		newSession = `client {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a"}}`
		made       = `agent {"jsonrpc":"2.0","id":1,"result":{"sessionId":"recorded"}}`
		prompt     = `client {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"recorded","prompt":[]}}`
		text       = `agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"recorded","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}`
		asks       = `agent {"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"recorded"}}`
		answers    = `client {"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`
		refuses    = `client {"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"no"}}`
		cancel     = `client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"recorded"}}`
		ends       = `agent {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`
		fails      = `agent {"jsonrpc":"2.0","id":2,"error":{"code":-6,"message":"failed","data":{"a":1}}}`
		noise      = `agent "noise"`
	)
	full := []string{initialize, version, newSession, made, prompt, text, asks, answers, ends}
	var got strings.Builder
	for _, c := range []struct {
		title     string
		recording []string
		agent     bool     // the agent is played, else the client
		come      []string // from the other side
	}{
		{"the agent", full, true, []string{
			`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":"b","method":"session/new"}`, `{"jsonrpc":"2.0","id":"c","method":"session/prompt"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`,
		}},
		{"the agent, whose client has left", full, true, nil},
		{"the agent, whose client has left in between", full, true, []string{`{"jsonrpc":"2.0","id":"a","method":"initialize"}`, "", " \t"}},
		{"the agent, in another order", full, true, []string{`{"jsonrpc":"2.0","id":"b","method":"session/new"}`, `{"jsonrpc":"2.0","id":"a","method":"initialize"}`, `{"jsonrpc":"2.0","id":"c","method":"session/prompt"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"refused"}}`}},
		{"the agent, with one request twice", full, true, []string{`{"jsonrpc":"2.0","id":"a","method":"initialize"}`, `{"jsonrpc":"2.0","id":"b","method":"initialize"}`}},
		{"the agent, with much that is not recorded", full, true, []string{`{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`, `{"jsonrpc":"2.0","id":9,"result":{}}`, `{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}`, `noise`, `{"jsonrpc":"2.0","id":2,"method":"c"}`}},
		{"the agent, which is cancelled", []string{initialize, version, prompt, text, cancel, ends}, true, []string{`{"jsonrpc":"2.0","id":"a","method":"initialize"}`, `{"jsonrpc":"2.0","id":"c","method":"session/prompt"}`, `{"jsonrpc":"2.0","method":"session/cancel"}`}},
		{"the agent, which is not cancelled", []string{initialize, version, prompt, text, cancel, ends}, true, []string{`{"jsonrpc":"2.0","id":"a","method":"initialize"}`, `{"jsonrpc":"2.0","id":"c","method":"session/prompt"}`}},
		{"the agent, which fails", []string{prompt, fails}, true, []string{`{"jsonrpc":"2.0","id":"c","method":"session/prompt"}`}},
		{"the agent, with noise", []string{noise, initialize, version}, true, []string{`{"jsonrpc":"2.0","id":"c","method":"initialize"}`}},
		{"the client", full, false, []string{
			`{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"real"}}`, `{"jsonrpc":"2.0","method":"session/update","params":{}}`, `{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`,
		}},
		{"the client, without updates", full, false, []string{`{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"real"}}`, `{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"the client, with more updates", full, false, []string{`{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"session/update"}`, `{"jsonrpc":"2.0","method":"session/update"}`, `{"jsonrpc":"2.0","method":"other"}`, `{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"the client, whose agent has ended", full, false, nil},
		{"the client, whose agent has ended in between", full, false, []string{`{"jsonrpc":"2.0","id":0,"result":{}}`}},
		{"the client, whose agent fails", full, false, []string{`{"jsonrpc":"2.0","id":0,"error":{"code":-7,"message":"broken"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-8,"message":"broken"}}`, `{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"the client, whose agent asks more", full, false, []string{`{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file"}`, `{"jsonrpc":"2.0","id":0,"result":{}}`, `{"jsonrpc":"2.0","id":44,"result":{}}`, `noise`}},
		{"the client, which cancels", []string{prompt, text, cancel, ends}, false, []string{`{"jsonrpc":"2.0","method":"session/update"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"the client, which has nothing to cancel yet", []string{prompt, text, cancel, ends}, false, []string{`{"jsonrpc":"2.0","method":"other"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"the client, which is answered in another order", []string{newSession, `client {"jsonrpc":"2.0","id":5,"method":"session/new"}`, made, `agent {"jsonrpc":"2.0","id":5,"result":{"sessionId":"second"}}`, prompt, `client {"jsonrpc":"2.0","id":6,"method":"session/prompt","params":{"sessionId":"second"}}`, ends, `agent {"jsonrpc":"2.0","id":6,"result":{}}`}, false, []string{
			`{"jsonrpc":"2.0","id":5,"result":{"sessionId":"real second"}}`, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"real"}}`, `{"jsonrpc":"2.0","id":6,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`,
		}},
		{"the client, which refuses", []string{asks, refuses}, false, []string{`{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}`}},
		{"the client, which says the last word", []string{prompt, ends, cancel}, false, []string{`{"jsonrpc":"2.0","id":2,"result":{}}`}},
	} {
		var recording strings.Builder
		for _, line := range c.recording {
			side, message, _ := strings.Cut(line, " ")
			fmt.Fprintf(&recording, `{"ms":0,"from":%q,"message":%s}`+"\n", side, message)
		}
		replay, err := acptest.ReadReplay(strings.NewReader(recording.String()))
		require.NoError(t, err, c.title)
		before := ""
		for n := range 2 { // it may be used again
			var out bytes.Buffer
			in := strings.NewReader(strings.Join(append(c.come, ""), "\n"))
			if c.agent {
				err = replay.ServeAgent(t.Context(), in, &out)
			} else {
				err = replay.ServeClient(t.Context(), in, &out)
			}
			outcome := fmt.Sprintf("# %s\n%s%v\n\n", c.title, out.String(), err)
			if n == 1 {
				require.Equal(t, before, outcome)
			}
			before = outcome
		}
		got.WriteString(before)
	}
	for _, text := range []string{"", "noise", `{"ms":0,"from":"agent","message":"noise"}` + "\n", `{"ms":0,"from":"nobody","message":{}}` + "\n"} {
		_, err := acptest.ReadReplay(strings.NewReader(text))
		fmt.Fprintf(&got, "# a recording %q\n%v\n\n", text, err)
	}
	const path = "testdata/replays.want"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), got.String())
}

// stream is a stream that fails and notes that it was closed.
type stream struct {
	io.Reader
	err    error
	closed atomic.Int32
}

func (s *stream) Write(p []byte) (int, error) { return len(p), s.err }
func (s *stream) Close() error                { s.closed.Add(1); return nil }

// Replays close their streams, and say what has failed.
func TestReplaysCloseTheirStreams(t *testing.T) {
	replay, err := acptest.ReadReplay(strings.NewReader(hello))
	require.NoError(t, err)
	broken := errors.New("broken")
	in, out := &stream{Reader: strings.NewReader("")}, &stream{err: broken}
	require.EqualError(t, replay.ServeClient(t.Context(), in, out), "acptest: replay: broken")
	require.Equal(t, []int32{1, 1}, []int32{in.closed.Load(), out.closed.Load()})
	in = &stream{Reader: io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`+"\n"), failing{broken})}
	err = replay.ServeAgent(t.Context(), in, io.Discard)
	require.EqualError(t, err, "acptest: replay: broken")
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	err = replay.ServeClient(ctx, &stream{Reader: strings.NewReader("")}, &stream{err: broken})
	require.ErrorIs(t, err, stopped)
	require.NotErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// What an agent does against the protocol is named, once for each time.
func TestViolationsAreNamed(t *testing.T) {
	call := func(id, title, status string) acp.SessionUpdate {
		return acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: acp.ToolCallID(id), Title: title, Status: acp.ToolCallStatus(status)}}
	}
	change := func(id, status string) acp.SessionUpdate {
		return acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(id), Status: acp.ToolCallStatus(status)}}
	}
	for _, c := range []struct {
		updates []acp.SessionUpdate
		want    []string
	}{
		{[]acp.SessionUpdate{call("a", "A", ""), change("a", ""), change("a", "pending"), change("a", "in_progress"), change("a", ""), change("a", "in_progress"), change("a", "completed")}, nil},
		{[]acp.SessionUpdate{call("a", "A", "pending"), call("b", "B", "in_progress"), change("b", "failed"), change("a", "failed")}, nil},
		{[]acp.SessionUpdate{call("a", "A", ""), call("a", "", "")}, []string{`tool call "a" announced twice`, `tool call "a" has no title`}},
		{[]acp.SessionUpdate{change("a", "")}, []string{`update of tool call "a", which has not been announced`}},
		{[]acp.SessionUpdate{change("a", "failed"), change("a", "")}, []string{`update of tool call "a", which has not been announced`, `update of tool call "a", which has not been announced`}},
		{[]acp.SessionUpdate{call("a", "A", "completed"), change("a", "")}, []string{`update of tool call "a", which has ended`}},
		{[]acp.SessionUpdate{call("a", "A", "failed"), change("a", "failed")}, []string{`update of tool call "a", which has ended`}},
		{[]acp.SessionUpdate{call("a", "A", ""), change("a", "in_progress"), change("a", "pending"), change("a", "in_progress")}, []string{`status of tool call "a" went from in_progress to pending`}},
		{[]acp.SessionUpdate{call("a", "A", ""), change("a", "completed"), change("a", "pending")}, []string{`update of tool call "a", which has ended`}},
	} {
		e := acptest.New(acptest.Options{})
		for _, u := range c.updates {
			require.NoError(t, e.SessionUpdate(t.Context(), &acp.SessionNotification{SessionID: "s", Update: u}))
		}
		require.Equal(t, c.want, e.Violations())
	}
	for name, want := range map[string]bool{"/a": true, "a": false, "": false, `C:\a`: true, "c:/a": true, "C:a": false, `\\server\a`: true, `\a`: false, "CC:/a": false} {
		e := acptest.New(acptest.Options{Files: map[string]string{name: "x"}})
		_, err := e.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{Path: name})
		require.NoError(t, err)
		_, err = e.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{Path: name})
		require.NoError(t, err)
		_, err = e.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Cwd: &name})
		require.NoError(t, err)
		if want {
			require.Empty(t, e.Violations())
		} else {
			why := fmt.Sprintf(": the path %q is not absolute", name)
			require.Equal(t, []string{"fs/read_text_file" + why, "fs/write_text_file" + why, "terminal/create" + why}, e.Violations())
		}
		e.Close()
	}
	option := func(id string) acp.PermissionOption {
		return acp.PermissionOption{OptionID: acp.PermissionOptionID(id), Kind: acp.PermissionOptionKindAllowOnce}
	}
	for _, c := range []struct {
		before  []acp.SessionUpdate
		options []acp.PermissionOption
		want    []string
	}{
		{[]acp.SessionUpdate{call("a", "A", "")}, []acp.PermissionOption{option("x"), option("y")}, nil},
		{[]acp.SessionUpdate{call("a", "A", "in_progress")}, []acp.PermissionOption{option("x"), option("x"), option("x")}, []string{`permission for tool call "a": option "x" twice`, `permission for tool call "a": option "x" twice`}},
		{nil, nil, []string{`permission for tool call "a", which has not been announced`, `permission for tool call "a" without options`}},
		{[]acp.SessionUpdate{call("a", "A", "failed")}, []acp.PermissionOption{option("x")}, []string{`permission for tool call "a", which has ended`}},
	} {
		e := acptest.New(acptest.Options{})
		for _, u := range c.before {
			require.NoError(t, e.SessionUpdate(t.Context(), &acp.SessionNotification{Update: u}))
		}
		req := &acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{ToolCallID: "a"}, Options: c.options}
		_, err := e.RequestPermission(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, c.want, e.Violations())
		require.Equal(t, []*acp.RequestPermissionRequest{req}, e.Permissions())
	}
}

// Programs run until they are killed, and end with what they say or with the signal.
func TestProgramsRunUntilTheyAreKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"serve": acptest.Runs("up"), "go test": acptest.Prints("two words", 4), "go": acptest.Prints("one", 5), "sh": acptest.Prints("shell", 6)}})
		start := func(command string, args ...string) acp.TerminalID {
			t.Helper()
			created, err := e.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: command, Args: args})
			require.NoError(t, err)
			synctest.Wait()
			return created.TerminalID
		}
		output := func(id acp.TerminalID) string {
			t.Helper()
			out, err := e.TerminalOutput(t.Context(), &acp.TerminalOutputRequest{TerminalID: id})
			require.NoError(t, err)
			switch s := out.ExitStatus; {
			case s == nil:
				return out.Output + " runs"
			case s.Signal != nil:
				return out.Output + " " + *s.Signal
			default:
				return fmt.Sprint(out.Output, " ", *s.ExitCode)
			}
		}
		first, second := start("serve"), start("serve", "again")
		require.Equal(t, []string{"terminal-1", "terminal-2"}, []string{string(first), string(second)})
		require.Equal(t, "up runs", output(first))
		_, err := e.KillTerminal(t.Context(), &acp.KillTerminalRequest{TerminalID: first})
		require.NoError(t, err)
		require.Equal(t, "up SIGKILL", output(first))
		require.Equal(t, "up runs", output(second))
		for want, line := range map[string][]string{
			"two words 4": {"go", "test"}, "one 5": {"go"}, "nope: command not found\n 127": {"nope", "go"}, "shell 6": {"sh", "-c", "nope x"},
		} {
			require.Equal(t, want, output(start(line[0], line[1:]...)), "%v", line)
		}
		require.Equal(t, "two words 4", output(start("sh", "-c", "go test ./...")))
		require.Equal(t, "two words 4", output(start("cmd", "/C", "go test")))
		require.Equal(t, "sh 6", strings.Replace(output(start("sh", "-x", "go test")), "shell", "sh", 1), "only -c has a line")
		done := start("go")
		_, err = e.KillTerminal(t.Context(), &acp.KillTerminalRequest{TerminalID: done})
		require.NoError(t, err)
		require.Equal(t, "one 5", output(done), "it had ended before")
		e.Close()
		require.Equal(t, "up 0", output(second), "it was not killed by the agent")
		_, err = e.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "go"})
		require.EqualError(t, err, "acp: the editor is closed (-32603)")
		_, err = e.ReleaseTerminal(t.Context(), &acp.ReleaseTerminalRequest{TerminalID: "other"})
		require.EqualError(t, err, "acp: unknown terminal (-32002)")
		require.Equal(t, []string{`terminal/release: terminal "other" is not open`}, e.Violations())
	})
}

// An editor that shares the disk reads and saves there, and keeps what was typed for itself.
func TestEditorsMayShareTheDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "a")
	e := acptest.New(acptest.Options{OnDisk: true, Files: map[string]string{path: "one"}})
	onDisk := func() string {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, "one", onDisk())
	require.NoError(t, os.WriteFile(path, []byte("two"), 0o600))
	text, ok := e.File(path)
	require.Equal(t, []any{"two", true}, []any{text, ok})
	e.Type(path, "typed")
	resp, err := e.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{Path: path})
	require.NoError(t, err)
	require.Equal(t, "typed", resp.Content)
	require.Equal(t, "two", onDisk())
	_, err = e.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{Path: path, Content: "three"})
	require.NoError(t, err)
	require.Equal(t, "three", onDisk())
	text, _ = e.File(path)
	require.Equal(t, "three", text)
	_, ok = e.File(filepath.Join(dir, "none"))
	require.False(t, ok)
	_, err = e.WriteTextFile(t.Context(), &acp.WriteTextFileRequest{Path: filepath.Join(path, "below"), Content: "x"})
	require.Error(t, err, "a file is no directory")
	var failure *acp.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, acp.CodeInternal, failure.Code)
	require.Panics(t, func() { e.SetFile(filepath.Join(path, "below"), "x") })

	e = acptest.New(acptest.Options{})
	e.SetFile("/a", "x")
	text, ok = e.File("/a")
	require.Equal(t, []any{"x", true}, []any{text, ok})
	require.NoFileExists(t, "/a")
	_, err = e.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{Path: "/b"})
	require.EqualError(t, err, "acp: no such file: /b (-32002)")
}

// refusing is an agent that refuses what comes after some requests.
type refusing struct {
	acp.UnimplementedAgent
	left int
}

func (r *refusing) next() error {
	if r.left--; r.left < 0 {
		return acp.Errorf(-9, "refused")
	}
	return nil
}

func (r *refusing) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.Version}, r.next()
}

func (r *refusing) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "s"}, r.next()
}

func (r *refusing) Prompt(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
	return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, r.next()
}

// What an agent refuses is told to who drives it.
func TestRefusalsOfAgentsAreTold(t *testing.T) {
	for n := range 4 {
		conn := acptest.Connect(t, acptest.New(acptest.Options{}), acptest.ServeAgent(func(*acp.AgentConn) acp.Agent { return &refusing{left: n} }, nil))
		id, err := conn.Start(t.Context(), "/a")
		if n < 2 {
			require.ErrorContains(t, err, "refused (-9)")
			require.Empty(t, id)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, acp.SessionID("s"), id)
		stop, err := conn.Say(t.Context(), id, "x")
		if n < 3 {
			require.ErrorContains(t, err, "refused (-9)")
			require.Empty(t, stop)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, acp.StopReasonEndTurn, stop)
	}
}

// Faults come as often and as late as a test says, and a wait ends with its request.
func TestFaultsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		e := acptest.New(acptest.Options{Files: map[string]string{"/a": "x"}})
		read := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			_, err := e.ReadTextFile(ctx, &acp.ReadTextFileRequest{Path: "/a"})
			return time.Since(began), err
		}
		e.Fail(acp.MethodReadTextFile, 2, broken)
		e.Slow(acp.MethodReadTextFile, 3*time.Second)
		for _, want := range []error{broken, broken, nil, nil} {
			took, err := read(t.Context())
			require.Equal(t, want, err)
			require.Equal(t, 3*time.Second, took)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, broken)
		defer cancel()
		took, err := read(ctx)
		require.Equal(t, []any{time.Second, broken}, []any{took, err})
		e.Slow(acp.MethodReadTextFile, 0)
		took, err = read(ctx)
		require.Equal(t, []any{time.Duration(0), broken}, []any{took, err}, "its request had ended before")
		e.Fail(acp.MethodReadTextFile, -1, broken)
		for range 5 {
			_, err = read(t.Context())
			require.Equal(t, broken, err)
		}
		e.Fail(acp.MethodReadTextFile, 5, nil)
		_, err = read(t.Context())
		require.NoError(t, err)
		var methods []string
		for _, c := range e.Calls() {
			methods = append(methods, c.Method)
		}
		require.Len(t, methods, 12)
		require.NoError(t, e.SessionUpdate(ctx, &acp.SessionNotification{Update: acp.TextChunk("x")}), "a queue takes it whatever becomes of the request")
		require.Len(t, e.Calls(), 12, "updates are no calls")
	})
}

// A user who never answers lets a question wait for its end. Lines may be empty, and programs are told what they have written.
func TestSmallThingsOfEditors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := acptest.New(acptest.Options{Permission: acptest.Never, Files: map[string]string{"/a": "\n\nx"}, Programs: map[string]acptest.Program{"count": func(_ context.Context, p *acptest.Process) acptest.Exit {
			n, err := fmt.Fprint(p, "four")
			fmt.Fprint(p, n, err)
			return acptest.Exit{}
		}}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		resp, err := e.RequestPermission(ctx, &acp.RequestPermissionRequest{})
		require.NoError(t, err)
		require.NotNil(t, resp.Outcome.Cancelled)
		require.Equal(t, time.Minute, time.Since(began))

		require.NoError(t, e.SessionUpdate(t.Context(), &acp.SessionNotification{Update: acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "none", Title: new("T")}}}))
		require.Empty(t, e.State().ToolCalls, "it was not announced")

		for _, c := range []struct {
			line, limit uint32
			want        string
		}{{0, 1, "\n"}, {1, 1, "\n"}, {1, 2, "\n\n"}, {2, 1, "\n"}, {3, 1, "x"}, {3, 9, "x"}, {4, 1, ""}, {2, 0, ""}} {
			got, err := e.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{Path: "/a", Line: &c.line, Limit: &c.limit})
			require.NoError(t, err)
			require.Equal(t, c.want, got.Content, "%v", c)
		}
		created, err := e.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "count"})
		require.NoError(t, err)
		_, err = e.WaitForTerminalExit(t.Context(), &acp.WaitForTerminalExitRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		out, err := e.TerminalOutput(t.Context(), &acp.TerminalOutputRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		require.Equal(t, "four4 <nil>", out.Output)
	})
}
