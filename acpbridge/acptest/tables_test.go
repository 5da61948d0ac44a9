// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

// form and address are requests of an elicitation.
func form() *acp.CreateElicitationRequest {
	return &acp.CreateElicitationRequest{Message: "m", Form: &acp.ElicitationFormMode{}}
}

func address(id acp.ElicitationID) *acp.CreateElicitationRequest {
	return &acp.CreateElicitationRequest{Message: "m", URL: &acp.ElicitationURLMode{ElicitationID: id, URL: "https://example.com"}}
}

// methods call each method of a client in a valid way. There is a terminal, terminal-1, and a file, /a.
var methods = map[string]func(ctx context.Context, c *acptest.Client) error{
	acp.MethodReadTextFile: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.ReadTextFile(ctx, &acp.ReadTextFileRequest{Path: "/a"})
		return err
	},
	acp.MethodWriteTextFile: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.WriteTextFile(ctx, &acp.WriteTextFileRequest{Path: `C:\b`})
		return err
	},
	acp.MethodRequestPermission: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.RequestPermission(ctx, &acp.RequestPermissionRequest{
			ToolCall: acp.ToolCallUpdate{ToolCallID: "c"}, Options: []acp.PermissionOption{{OptionID: "1"}},
		})
		return err
	},
	acp.MethodCreateElicitation: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.CreateElicitation(ctx, form())
		return err
	},
	acp.MethodCreateTerminal: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.CreateTerminal(ctx, &acp.CreateTerminalRequest{Command: "x", Cwd: new("/")})
		return err
	},
	acp.MethodTerminalOutput: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.TerminalOutput(ctx, &acp.TerminalOutputRequest{TerminalID: "terminal-1"})
		return err
	},
	acp.MethodWaitForTerminalExit: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.WaitForTerminalExit(ctx, &acp.WaitForTerminalExitRequest{TerminalID: "terminal-1"})
		return err
	},
	acp.MethodKillTerminal: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.KillTerminal(ctx, &acp.KillTerminalRequest{TerminalID: "terminal-1"})
		return err
	},
	acp.MethodReleaseTerminal: func(ctx context.Context, c *acptest.Client) error {
		_, err := c.ReleaseTerminal(ctx, &acp.ReleaseTerminalRequest{TerminalID: "terminal-1"})
		return err
	},
	acp.MethodSessionUpdate: func(ctx context.Context, c *acptest.Client) error {
		return c.SessionUpdate(ctx, &acp.SessionNotification{SessionID: "s", Update: acp.TextChunk("x")})
	},
}

// prepared returns a client for methods.
func prepared(t *testing.T, o acptest.Options) *acptest.Client {
	o.Files = map[string]string{"/a": "text"}
	o.Programs = map[string]acptest.Program{"x": acptest.Prints("x", 0)}
	c := acptest.New(o)
	t.Cleanup(c.Close)
	_, err := c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "x"})
	require.NoError(t, err)
	require.NoError(t, c.SessionUpdate(t.Context(), &acp.SessionNotification{Update: acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "c", Title: "T"}}}))
	return c
}

func elicits(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
	return acptest.Accept(nil)
}

// TestEveryMethodFailsAsItIsTold has each method succeed, fail, wait, end with its context and with
// the connection.
func TestEveryMethodFailsAsItIsTold(t *testing.T) {
	boom := errors.New("boom")
	for method, call := range methods {
		t.Run(strings.ReplaceAll(method, "/", " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := prepared(t, acptest.Options{Elicitation: elicits})
				defer c.Close()
				synctest.Wait()
				before := len(c.Calls())
				c.Fail(method, 2, boom)
				for range 2 {
					require.ErrorIs(t, call(t.Context(), c), boom)
				}
				c.Fail(method, -1, boom)
				for range 3 {
					require.ErrorIs(t, call(t.Context(), c), boom)
				}
				c.Fail(method, 0, nil)
				c.Slow(method, time.Minute)
				begin := time.Now()
				short, cancel := context.WithTimeoutCause(t.Context(), time.Second, boom)
				defer cancel()
				require.ErrorIs(t, call(short, c), boom, "the wait ends with the context")
				require.Equal(t, time.Second, time.Since(begin))
				require.NoError(t, call(t.Context(), c))
				require.Equal(t, time.Second+time.Minute, time.Since(begin))
				want := 0
				if method != acp.MethodSessionUpdate {
					want = 2 + 3 + 2
				}
				require.Equal(t, want, len(c.Calls())-before, "each call is noted")
				if want > 0 {
					require.Equal(t, method, c.Calls()[before].Method)
				}
				require.Empty(t, c.Violations())
			})
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(boom)
			err := call(ended, prepared(t, acptest.Options{Elicitation: elicits}))
			if method == acp.MethodSessionUpdate {
				require.NoError(t, err, "a connection takes it")
			} else {
				require.ErrorIs(t, err, boom)
			}
			c := prepared(t, acptest.Options{Elicitation: elicits})
			c.Disconnect()
			require.ErrorIs(t, call(t.Context(), c), acp.ErrClosed)
			require.Empty(t, c.Open())
			refused := prepared(t, acptest.Options{Elicitation: elicits, Before: func(_ context.Context, call acptest.Call) error {
				if call.Method == method && call.Params != nil && method != acp.MethodCreateTerminal && method != acp.MethodSessionUpdate {
					return boom
				}
				return nil
			}})
			if method != acp.MethodCreateTerminal && method != acp.MethodSessionUpdate {
				require.ErrorIs(t, call(t.Context(), refused), boom, "Before has the first word")
			}
		})
	}
}

// TestWhatIsNotAnnouncedIsAViolation has each method with the capabilities that it needs, and
// without.
func TestWhatIsNotAnnouncedIsAViolation(t *testing.T) {
	all := acp.ClientCapabilities{
		FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{}},
	}
	require.Equal(t, all, acptest.New(acptest.Options{Elicitation: elicits}).Capabilities())
	plain := all
	plain.Elicitation = nil
	require.Equal(t, plain, acptest.New(acptest.Options{}).Capabilities())
	without := map[string]func(can *acp.ClientCapabilities){
		acp.MethodReadTextFile:  func(can *acp.ClientCapabilities) { can.FS.ReadTextFile = false },
		acp.MethodWriteTextFile: func(can *acp.ClientCapabilities) { can.FS.WriteTextFile = false },
		acp.MethodCreateElicitation: func(can *acp.ClientCapabilities) {
			can.Elicitation = &acp.ElicitationCapabilities{URL: can.Elicitation.URL}
		},
	}
	for _, method := range []string{
		acp.MethodCreateTerminal, acp.MethodTerminalOutput, acp.MethodWaitForTerminalExit, acp.MethodKillTerminal, acp.MethodReleaseTerminal,
	} {
		without[method] = func(can *acp.ClientCapabilities) { can.Terminal = false }
	}
	for method, call := range methods {
		can := all
		c := prepared(t, acptest.Options{Capabilities: &can, Elicitation: elicits})
		require.NoError(t, call(t.Context(), c))
		require.Empty(t, c.Violations(), method)
		if without[method] == nil {
			continue
		}
		without[method](&can)
		c = prepared(t, acptest.Options{Capabilities: &can, Elicitation: elicits})
		said := len(c.Violations()) // of the terminal
		_ = call(t.Context(), c)
		require.Equal(t, []string{method + ": the client did not announce that it can do this"}, c.Violations()[said:])
	}
	for name, c := range map[string]struct {
		can acp.ElicitationCapabilities
		req *acp.CreateElicitationRequest
		ok  bool
	}{
		"form": {acp.ElicitationCapabilities{Form: all.Elicitation.Form}, form(), true}, "no form": {acp.ElicitationCapabilities{URL: all.Elicitation.URL}, form(), false},
		"address": {acp.ElicitationCapabilities{URL: all.Elicitation.URL}, address("1"), true}, "no address": {acp.ElicitationCapabilities{Form: all.Elicitation.Form}, address("1"), false},
		"unknown": {*all.Elicitation, &acp.CreateElicitationRequest{}, false},
	} {
		can := all
		can.Elicitation = &c.can
		client := acptest.New(acptest.Options{Capabilities: &can, Elicitation: elicits})
		_, err := client.CreateElicitation(t.Context(), c.req)
		require.NoError(t, err)
		require.Equal(t, c.ok, len(client.Violations()) == 0, name)
	}
}

func TestElicitationsAreAnswered(t *testing.T) {
	c := acptest.New(acptest.Options{})
	_, err := c.CreateElicitation(t.Context(), form())
	require.ErrorIs(t, err, acp.ErrMethodNotFound)
	answer := acptest.Accept(map[string]acp.ElicitationContentValue{"a": acptest.Value("x")})
	for name, say := range map[string]*acp.CreateElicitationResponse{"accept": answer, "decline": acptest.Decline(), "nothing": nil} {
		c = acptest.New(acptest.Options{Elicitation: func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse { return say }})
		resp, err := c.CreateElicitation(t.Context(), address("1"))
		require.NoError(t, err)
		if say == nil {
			say = &acp.CreateElicitationResponse{Cancel: &acp.CreateElicitationResponseCancel{}}
		}
		require.Equal(t, say, resp, name)
		require.Equal(t, []*acp.CreateElicitationRequest{address("1")}, c.Elicitations())
	}
	require.NotNil(t, acptest.Decline().Decline)
	ctx, cancel := context.WithCancel(t.Context())
	c = acptest.New(acptest.Options{Elicitation: func(context.Context, *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
		cancel()
		return answer
	}})
	resp, err := c.CreateElicitation(ctx, form())
	require.NoError(t, err)
	require.NotNil(t, resp.Cancel, "the request has ended before the answer")

	for id, violations := range map[acp.ElicitationID][]string{"1": nil, "2": {`elicitation/complete: there was no elicitation "2" of an address`}} {
		c = acptest.New(acptest.Options{Elicitation: elicits})
		for _, req := range []*acp.CreateElicitationRequest{form(), address("1")} {
			_, err := c.CreateElicitation(t.Context(), req)
			require.NoError(t, err)
		}
		require.NoError(t, c.CompleteElicitation(t.Context(), &acp.CompleteElicitationNotification{ElicitationID: id}))
		require.Equal(t, violations, c.Violations())
	}
}

func TestValuesOfForms(t *testing.T) {
	for want, v := range map[string]any{`"x"`: "x", `7`: 7, `1.5`: 1.5, `true`: true, `["a","b"]`: []string{"a", "b"}, `[]`: []string(nil)} {
		data, err := json.Marshal(acptest.Value(v))
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	require.PanicsWithValue(t, "acptest: a form has no values of this type", func() { acptest.Value(int64(1)) })
}

// TestUpdatesOfToolCalls has each field of an update, and the last of everything else.
func TestUpdatesOfToolCalls(t *testing.T) {
	c := acptest.New(acptest.Options{})
	send := func(u acp.SessionUpdate) {
		require.NoError(t, c.SessionUpdate(t.Context(), &acp.SessionNotification{SessionID: "s", Update: u}))
	}
	seen := func(id acp.ToolCallID) acp.ToolCall {
		s := c.State()
		return *s.ToolCall(id)
	}
	update := func(u acp.ToolCallUpdate) {
		u.ToolCallID = "c"
		send(acp.SessionUpdate{ToolCallUpdate: &u})
	}
	send(acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "b", Title: "other"}})
	send(acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "c", Title: "T", Status: "pending"}})
	update(acp.ToolCallUpdate{})
	require.Equal(t, acp.ToolCall{ToolCallID: "c", Title: "T", Status: "pending"}, seen("c"))
	want := acp.ToolCall{
		ToolCallID: "c", Title: "new", Name: new("name"), Kind: acp.ToolKindEdit, Status: acp.ToolCallStatusInProgress,
		Content: []acp.ToolCallContent{{}}, Locations: []acp.ToolCallLocation{{Path: "/a"}},
		RawInput: json.RawMessage(`1`), RawOutput: json.RawMessage(`2`), Meta: map[string]json.RawMessage{"m": json.RawMessage(`3`)},
	}
	update(acp.ToolCallUpdate{Title: new("new"), Name: want.Name, Kind: want.Kind, Status: want.Status})
	update(acp.ToolCallUpdate{Content: want.Content, Locations: want.Locations, RawInput: want.RawInput, RawOutput: want.RawOutput, Meta: want.Meta})
	update(acp.ToolCallUpdate{})
	require.Equal(t, want, seen("c"))
	require.Equal(t, acp.ToolCall{ToolCallID: "b", Title: "other"}, seen("b"))
	for n := range 2 {
		send(acp.SessionUpdate{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: fmt.Sprint(n)}}}})
		send(acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: fmt.Sprint(n)}}}})
		send(acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: uint64(n)}})
		send(acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(fmt.Sprint("u", n))}})
	}
	send(acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{}})
	s := c.State("s")
	require.Equal(t, "1", s.Plan.Entries[0].Content)
	require.Equal(t, "1", s.Commands[0].Name)
	require.Equal(t, uint64(1), s.Usage.Used)
	require.Equal(t, "u0u1", s.User)
	require.Empty(t, c.Violations())
}

func TestTerminalsAreListedInTheirOrder(t *testing.T) {
	c := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"x": acptest.Runs("")}})
	defer c.Close()
	var want []string
	for i := range 12 {
		_, err := c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "x", Args: []string{fmt.Sprint(i)}})
		require.NoError(t, err)
		want = append(want, fmt.Sprint("x ", i))
	}
	require.Equal(t, want, c.Open())
}

// TestOutputKeepsItsEnd has both sides of the limit.
func TestOutputKeepsItsEnd(t *testing.T) {
	for limit, want := range map[uint64]string{3: "3 é", 4: "3 é", 5: "23 é", 6: "123 é", 7: "123 é"} {
		c := acptest.New(acptest.Options{Programs: map[string]acptest.Program{"x": acptest.Prints("123 é", 0)}})
		created, err := c.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{Command: "x", OutputByteLimit: &limit})
		require.NoError(t, err)
		_, err = c.WaitForTerminalExit(t.Context(), &acp.WaitForTerminalExitRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		out, err := c.TerminalOutput(t.Context(), &acp.TerminalOutputRequest{TerminalID: created.TerminalID})
		require.NoError(t, err)
		if limit == 3 {
			want = " é"
		}
		require.Equal(t, want, out.Output, limit)
		require.Equal(t, limit < 6, out.Truncated, limit)
	}
}

// TestDiffersSaysWhere compares recordings of one agent that differ in one way each.
func TestDiffersSaysWhere(t *testing.T) {
	from := func(lines ...string) *acptest.Replay {
		var b strings.Builder
		for _, line := range lines {
			side := "agent"
			if rest, ok := strings.CutPrefix(line, "client "); ok {
				side, line = "client", rest
			}
			fmt.Fprintf(&b, `{"ms":0,"from":%q,"message":%s}`+"\n", side, line)
		}
		r, err := acptest.ReadReplay(strings.NewReader(b.String()))
		require.NoError(t, err)
		return r
	}
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
	}
	text := func(kind, s string) string {
		return update(`{"sessionUpdate":"` + kind + `","content":{"type":"text","text":"` + s + `"}}`)
	}
	call := func(id string) string {
		return update(`{"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"T"}`)
	}
	ask, answer := `client {"jsonrpc":"2.0","id":1,"method":"session/new"}`, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"x"}}`
	for _, c := range []struct {
		name string
		a, b []string
		says string
	}{
		{"equal", []string{ask, answer}, []string{ask, answer}, ""},
		{"another id", []string{ask, answer}, []string{ask, strings.ReplaceAll(answer, `"x"`, `"y"`)}, ""},
		{"more", []string{ask, answer}, []string{ask, answer, call("1")}, "message 2 of the agent:\n- nothing\n+ notification session/update {\"sessionId\":\"sessionId-2\",\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"T\",\"toolCallId\":\"toolCallId-3\"}}"},
		{"less", []string{ask, answer, call("1")}, []string{ask, answer}, "message 2 of the agent:\n- notification session/update {\"sessionId\":\"sessionId-2\",\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"T\",\"toolCallId\":\"toolCallId-3\"}}\n+ nothing"},
		{"an error", []string{ask, answer}, []string{ask, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`}, "message 1 of the agent:\n- response session/new {\"sessionId\":\"sessionId-1\"}\n+ error session/new {\"code\":-1,\"message\":\"m\"}"},
		{"chunks", []string{text("agent_message_chunk", "ab"), call("1")}, []string{text("agent_message_chunk", "a"), text("agent_message_chunk", "b"), call("2")}, ""},
		{"chunks of kinds", []string{text("agent_message_chunk", "ab")}, []string{text("agent_message_chunk", "a"), text("agent_thought_chunk", "b")}, "message 1 of the agent:\n- message \"ab\"\n+ message \"a\""},
		{"a thought", []string{text("agent_thought_chunk", "a")}, []string{text("user_message_chunk", "a")}, "message 1 of the agent:\n- thought \"a\"\n+ user \"a\""},
		{"what the client says", []string{ask, answer}, []string{`client {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`, answer}, ""},
		{"other meta", []string{ask, answer}, []string{ask, `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},"sessionId":"x"}}`}, ""},
		{"an id of another call", []string{call("1"), call("1")}, []string{call("1"), call("2")}, "message 2 of the agent:\n- notification session/update {\"sessionId\":\"sessionId-1\",\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"T\",\"toolCallId\":\"toolCallId-2\"}}\n+ notification session/update {\"sessionId\":\"sessionId-1\",\"update\":{\"sessionUpdate\":\"tool_call\",\"title\":\"T\",\"toolCallId\":\"toolCallId-3\"}}"},
	} {
		require.Equal(t, c.says, from(c.a...).Differs(from(c.b...)), c.name)
	}
}
