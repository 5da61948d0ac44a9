// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestRecordedMessagesAreWhole compares recorded messages with what they are without their secrets.
func TestRecordedMessagesAreWhole(t *testing.T) {
	for line, want := range map[string]string{
		`{"a":[1,2.50,1e9,true,false,null,"<x>",{}],"b":{"c":[]}}`: `{"a":[1,2.50,1e9,true,false,null,"<x>",{}],"b":{"c":[]}}`,
		` { "a" : 1 , "a" : 2 } `:                                  `{"a":1,"a":2}`,
		`7`:                                                        `7`,
		`{"env":[{"name":"A","value":"v","n":7,"more":{"name":"x"}},"s",["t"]],"name":"n"}`: `{"env":[{"name":"A","value":"[secret]","n":7,"more":{"name":"[secret]"}},"[secret]",["[secret]"]],"name":"n"}`,
		`{"env":{"name":"A","B":"b"}}`:                                                            `{"env":{"name":"[secret]","B":"[secret]"}}`,
		`{"headers":[{"name":"A","value":""}]}`:                                                   `{"headers":[{"name":"A","value":""}]}`,
		`{"headers":[[{"name":"A"}]],"ENV":"x"}`:                                                  `{"headers":[[{"name":"[secret]"}]],"ENV":"x"}`,
		`{"apiKey":"k","API_KEY":"k","access-token":"k","authorization":"k","AUTHORIZATION":"k"}`: `{"apiKey":"[secret]","API_KEY":"[secret]","access-token":"[secret]","authorization":"[secret]","AUTHORIZATION":"[secret]"}`,
		`{"password":{"a":["x",1]},"clientSecret":["y"],"tokens":"z","monkey":"m","APIKey":"k","myAPIToken":"k","oauth2Token":"k","Api-Key":"k"}`: `{"password":{"a":["[secret]",1]},"clientSecret":["[secret]"],"tokens":"z","monkey":"m","APIKey":"[secret]","myAPIToken":"[secret]","oauth2Token":"[secret]","Api-Key":"[secret]"}`,
		`{"text":"a mine-secret b","mine-secret":1}`: `{"text":"a [secret] b","[secret]":1}`,
	} {
		text := recordedText(t, acpproxy.Config{Secrets: []string{"mine-secret", "short"}}, line)
		require.Equal(t, `{"ms":0,"from":"client","message":`+want+"}\n", text)
	}
	require.Equal(t, `{"ms":0,"from":"client","text":"no <JSON>: [secret] � short"}`+"\n", recordedText(t, acpproxy.Config{Secrets: []string{"mine-s", "short"}}, "no <JSON>: mine-s \xff short"),
		"six bytes are a secret")
}

// TestRecordingsHaveTheirTimes has messages that pass at different times.
func TestRecordingsHaveTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		editor, agent, wait := serve(t, acpproxy.Config{Record: &out})
		time.Sleep(time.Hour)
		for _, d := range []time.Duration{0, 1999 * time.Microsecond, time.Microsecond} {
			time.Sleep(d)
			editor.write(request(1, "m", `{}`))
			agent.read()
		}
		require.NoError(t, agent.out.Close())
		require.ErrorIs(t, wait(), acpproxy.ErrAgentEnded)
		entries, err := acpproxy.ReadRecording(&out)
		require.NoError(t, err)
		require.Len(t, entries, 4)
		require.Equal(t, []int64{0, 1, 2, 2}, []int64{entries[0].Millis, entries[1].Millis, entries[2].Millis, entries[3].Millis})
		require.Equal(t, acpproxy.FromAgent, entries[3].From)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m: the agent has ended"}}`, string(entries[3].Message), "what the proxy answers is recorded")
	})
}

func TestWrongRecordingsAreNamed(t *testing.T) {
	good := `{"ms":1,"from":"client","message":{}}` + "\n"
	for text, want := range map[string]string{
		good + `{"from":"client","text":""}` + "\n":                    "acpproxy: recording, line 2: it is not a message",
		`{"from":"editor","text":"x"}` + "\n":                          "acpproxy: recording, line 1: it is not a message",
		good + good + `{"from":"agent","message":1,"text":"x"}` + "\n": "acpproxy: recording, line 3: it is not a message",
		"\n": "acpproxy: recording, line 1: unexpected end of JSON input",
	} {
		_, err := acpproxy.ReadRecording(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
	broken := errors.New("broken")
	_, err := acpproxy.ReadRecording(io.MultiReader(strings.NewReader(good), failing{broken}))
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "acpproxy: recording, line 2: broken")
	all, err := acpproxy.ReadRecording(strings.NewReader(`{"from":"agent","text":"` + strings.Repeat("x", 200_000) + `"}` + "\n"))
	require.NoError(t, err)
	require.Len(t, all[0].Text, 200_000)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestProblemsAreNamed has what does not pass a policy, with what the agent and the program are told.
func TestProblemsAreNamed(t *testing.T) {
	var log safe
	config := acpproxy.Config{Policy: says(""), MaxLine: 2000, Log: slog.New(slog.NewTextHandler(&log, nil))}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	answered := func(line, answer, want string) {
		t.Helper()
		agent.write(line)
		if answer != "" {
			require.JSONEq(t, answer, agent.read())
		} else {
			agent.write(`{"jsonrpc":"2.0","method":"after"}`)
			editor.expect(`{"jsonrpc":"2.0","method":"after"}`)
		}
		require.Equal(t, want, problem())
		require.Empty(t, problem())
	}
	answered(`{`, ``, "acpproxy: a line of the agent does not pass the policy: it is not a message of the protocol")
	for _, method := range []string{acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodCreateTerminal} {
		answered(`{"jsonrpc":"2.0","method":"`+method+`","params":{}}`, ``, "acpproxy: "+method+" of the agent does not pass the policy: it has no id")
	}
	const wrong = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid parameters"}}`
	for _, method := range []string{acp.MethodRequestPermission, acp.MethodReadTextFile, acp.MethodWriteTextFile, acp.MethodCreateTerminal} {
		agent.write(request(1, method, `{"sessionId":7}`))
		require.JSONEq(t, wrong, agent.read())
		require.Contains(t, problem(), "acpproxy: "+method+" does not pass the policy: ")
	}
	agent.write(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1,"a":2}}`)
	told := agent.read()
	_, why, _ := strings.Cut(problem(), "acpproxy: a request of the agent does not pass the policy: ")
	require.NotEmpty(t, why)
	require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":%q}}`, "invalid request: "+why), told)

	long := strings.Repeat("x", 2000)
	const tooLong = `"error":{"code":-32600,"message":"the message is longer than 2000 bytes"}}`
	agent.write(`{"jsonrpc":"2.0","id":5,"method":"m","params":"` + long + `"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":5,`+tooLong, agent.read())
	require.Contains(t, problem(), "acpproxy: from the agent: ")
	editor.write(request(6, "ask", "{}"))
	agent.read()
	agent.write(`{"jsonrpc":"2.0","id":6,"result":"` + long + `"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":6,`+tooLong, editor.read())
	require.Contains(t, problem(), "acpproxy: from the agent: ")
	editor.write(`{"jsonrpc":"2.0","id":7,"method":"m","params":"` + long + `"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":7,`+tooLong, editor.read())
	require.Contains(t, problem(), "acpproxy: from the editor: ")
	editor.write(`{"jsonrpc":"2.0","id":8,"result":"` + long + `"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":8,`+tooLong, agent.read())
	require.Contains(t, problem(), "acpproxy: from the editor: ")
	editor.write(`{"jsonrpc":"2.0","method":"m","params":"`+long+`"}`, request(9, "after", "{}"))
	agent.expect(request(9, "after", "{}"))
	require.Contains(t, problem(), "acpproxy: from the editor: ")
	require.Contains(t, log.String(), `level=WARN msg="acp proxy" problem="acpproxy: from the editor: `)
	fits := `{"jsonrpc":"2.0","id":5,"method":"m","params":"`
	fits += strings.Repeat("x", 2000-len(fits)-2) + `"}`
	agent.write(fits)
	editor.expect(fits)
}

// TestPolicySeesWholeRequests has what a policy is told of each kind of request.
func TestPolicySeesWholeRequests(t *testing.T) {
	var seen *acpproxy.Request
	var log safe
	editor, agent, _ := serve(t, acpproxy.Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Policy: func(r *acpproxy.Request) acpproxy.Verdict {
		seen = r
		return acpproxy.Verdict{}
	}})
	ask := func(method, params string) *acpproxy.Request {
		t.Helper()
		seen = nil
		agent.write(request(1, method, params))
		editor.expect(request(1, method, params))
		require.NotNil(t, seen)
		require.Equal(t, acp.SessionID("s"), seen.Session)
		require.Equal(t, "s", seen.Approval.RunID)
		return seen
	}
	r := ask(acp.MethodReadTextFile, `{"sessionId":"s","path":"/repo/a\u200b"}`)
	require.Equal(t, []any{"read_file", toolset.KindRead, "Read /repo/a⟨U+200B⟩", "Read /repo/a⟨U+200B⟩", []string{"s"}}, []any{r.Approval.Tool, r.Approval.Kind, r.Approval.Title, r.Approval.Approval.Title, r.Approval.Path})
	require.Equal(t, []model.Effect{{Kind: model.EffectRead, Path: "/repo/a\u200b"}}, r.Approval.Approval.Effects)
	r = ask(acp.MethodWriteTextFile, `{"sessionId":"s","path":"/repo/a","content":"x"}`)
	require.Equal(t, []any{"write_file", toolset.KindEdit, "Write /repo/a", "Write /repo/a"}, []any{r.Approval.Tool, r.Approval.Kind, r.Approval.Title, r.Approval.Approval.Title})
	require.Equal(t, []model.Effect{{Kind: model.EffectWrite, Path: "/repo/a"}}, r.Approval.Approval.Effects)
	r = ask(acp.MethodCreateTerminal, `{"sessionId":"s","command":"ls -l"}`)
	require.Equal(t, []any{"run_command", toolset.KindExecute, "Run a command", "Run a command"}, []any{r.Approval.Tool, r.Approval.Kind, r.Approval.Title, r.Approval.Approval.Title})
	require.Equal(t, toolset.CommandLine{Line: "ls -l"}, *r.Approval.Approval.Preview[0].Command, "without arguments, it is a line for a shell")
	r = ask(acp.MethodCreateTerminal, `{"sessionId":"s","command":"ls","args":["-l"],"cwd":"/repo","env":[{"name":"A","value":"1"}]}`)
	require.Equal(t, toolset.CommandLine{Args: []string{"ls", "-l"}, Dir: "/repo", Env: []string{"A=1"}}, *r.Approval.Approval.Preview[0].Command)
	call := func(more string) *acpproxy.Request {
		t.Helper()
		return ask(acp.MethodRequestPermission, `{"sessionId":"s","toolCall":{"toolCallId":"c"`+more+`},"options":[]}`)
	}
	r = call(`,"title":"T","kind":"edit","name":"mine","rawInput":{"path":"/a"},"content":[{"type":"content","content":{"type":"text","text":"why"}},{"type":"diff","path":"/a","newText":"x"}],"locations":[{"path":"/b"}]`)
	require.Equal(t, []any{"mine", toolset.KindEdit, "T", "T", []string{"s", "c"}, `{"path":"/a"}`}, []any{r.Approval.Tool, r.Approval.Kind, r.Approval.Title, r.Approval.Approval.Title, r.Approval.Path, string(r.Approval.Args)})
	require.Len(t, r.Approval.Approval.Preview, 2)
	require.Equal(t, "agent_tool", call(``).Approval.Tool)
	require.Equal(t, "agent_tool", call(`,"name":""`).Approval.Tool)
	require.Equal(t, "read_file", call(`,"name":"read_file","kind":"read","rawInput":{"path":"/a"}`).Approval.Tool)
	require.Equal(t, "agent_tool", call(`,"name":"read_file","kind":"edit","rawInput":{"path":"/a"}`).Approval.Tool, "its content belies the name")
	unknown := func(r *acpproxy.Request) bool {
		for _, e := range r.Approval.Approval.Effects {
			if e.Kind == model.EffectUnknown {
				return true
			}
		}
		return false
	}
	require.False(t, unknown(call(`,"kind":"read","rawInput":{"path":"/a"}`)))
	require.True(t, unknown(call(`,"kind":"read","rawInput":{"path":"/a"},"content":[{"type":"terminal","terminalId":"t"}]`)))
	require.False(t, unknown(call(`,"kind":"read","rawInput":{"path":"/a"},"content":[{"type":"content","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]`)))
	require.Contains(t, log.String(), `level=INFO msg="acp policy" method=session/request_permission id=1 verdict=""`)
	require.Contains(t, log.String(), `level=DEBUG msg="acp message" from=agent kind=request method=session/request_permission id=1 size=`)
}

// safe is a log that is read while it is written.
type safe struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestDenialsSayWhy has reasons of policies, as agents are told of them.
func TestDenialsSayWhy(t *testing.T) {
	for reason, want := range map[string]string{"": "a policy denies this", " two\n lines ": "a policy denies this: two lines"} {
		_, agent, _ := serve(t, acpproxy.Config{Policy: func(*acpproxy.Request) acpproxy.Verdict {
			return acpproxy.Verdict{Verdict: toolset.VerdictDeny, Reason: reason}
		}})
		agent.write(request(1, acp.MethodReadTextFile, `{"sessionId":"s","path":"/a"}`))
		require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":%q}}`, want), agent.read())
	}
	_, agent, _ := serve(t, acpproxy.Config{Policy: func(*acpproxy.Request) acpproxy.Verdict { panic("oops") }})
	agent.write(request(1, acp.MethodReadTextFile, `{"sessionId":"s","path":"/a"}`))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a policy denies this: the policy failed"}}`, agent.read())
}

// TestCallsAreKeptUpToTheirBounds has a thousand calls, and one more, of which only the question itself is known.
func TestCallsAreKeptUpToTheirBounds(t *testing.T) {
	titles := make(chan string, 10)
	editor, agent, _ := serve(t, acpproxy.Config{Policy: func(r *acpproxy.Request) acpproxy.Verdict {
		titles <- r.Approval.Title
		return acpproxy.Verdict{}
	}})
	tell := func(update string) {
		line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}`
		agent.write(line)
		editor.expect(line)
	}
	title := func(call string) string {
		line := strings.Replace(question(allowOnce), `"c"`, `"`+call+`"`, 1)
		agent.write(line)
		editor.expect(line)
		return <-titles
	}
	announce := func(call string) {
		tell(`{"sessionUpdate":"tool_call","toolCallId":"` + call + `","title":"Call ` + call + `"}`)
	}
	for i := range 1000 {
		announce(fmt.Sprint("c", i))
	}
	announce("more")
	require.Equal(t, "Call c0", title("c0"))
	require.Equal(t, "Call c999", title("c999"))
	require.Empty(t, title("more"))
	tell(`{"sessionUpdate":"tool_call_update","toolCallId":"c7","title":"Changed"}`)
	require.Equal(t, "Changed", title("c7"), "a call that is known may change")
	tell(`{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"failed"}`)
	require.Empty(t, title("c7"))
	announce("more")
	require.Equal(t, "Call more", title("more"), "there is room again")
	tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\"tool_call"}}`)

	editor, agent, _ = serve(t, acpproxy.Config{Policy: func(r *acpproxy.Request) acpproxy.Verdict {
		titles <- r.Approval.Title
		return acpproxy.Verdict{}
	}})
	const head, tail = `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"big","title":"Big","rawInput":"`, `"}}`
	tell(strings.TrimSuffix(head[len(`{"sessionId":"s","update":`):]+strings.Repeat("x", 4<<20-len(head)-len(tail))+tail, "}"))
	require.Equal(t, "Big", title("big"), "4 MiB are kept")
	announce("small")
	require.Empty(t, title("small"))
	tell(`{"sessionUpdate":"tool_call_update","toolCallId":"big","title":"Bigger"}`)
	require.Empty(t, title("big"), "a call that is too large is forgotten")
	announce("small")
	require.Equal(t, "Call small", title("small"))
}

// TestServersThatCannotBeAddedAreNamed has servers that the agent cannot use, and requests that cannot be changed.
func TestServersThatCannotBeAddedAreNamed(t *testing.T) {
	stdio := func(name string) acp.MCPServer {
		return acp.MCPServer{Stdio: &acp.MCPServerStdio{Name: name, Command: "c"}}
	}
	config := acpproxy.Config{MCPServers: []acp.MCPServer{stdio("a"), stdio("a"), {HTTP: &acp.MCPServerHTTP{Name: "web", URL: "https://a"}}, {}}}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	added := func(method, params string) (names []string) {
		t.Helper()
		editor.write(request(1, method, params))
		var m struct {
			Params struct {
				MCPServers []struct{ Name string } `json:"mcpServers"`
			}
		}
		line := agent.read()
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		for _, s := range m.Params.MCPServers {
			names = append(names, s.Name)
		}
		return names
	}
	for _, method := range []string{"session/new", "session/load", "session/resume", "session/fork"} {
		require.Equal(t, []string{"a", "a-2"}, added(method, `{"cwd":"/"}`), method)
		require.Equal(t, `acpproxy: the MCP server "web" is left out: the agent does not support servers over HTTP`, problem())
		require.Equal(t, "acpproxy: an MCP server is left out: it is neither started nor reached over HTTP", problem())
	}
	require.Equal(t, []string{"a", "a-2", "a-3", "a-4"}, added("session/new", `{"mcpServers":[{"name":"a"},{"name":"a-2"}]}`))
	require.Equal(t, []string{"", "a", "a-2"}, added("session/new", `{"mcpServers":[{}]}`))
	for problem() != "" {
	}
	editor.write(request(1, "session/new", `{"mcpServers":7}`))
	agent.expect(request(1, "session/new", `{"mcpServers":7}`))
	require.Equal(t, "acpproxy: the MCP servers are not added to the session: mcpServers is not a list", problem())
	editor.write(request(1, "session/prompt", `{"mcpServers":7}`))
	agent.expect(request(1, "session/prompt", `{"mcpServers":7}`))
	require.Empty(t, problem())

	for _, http := range []bool{true, false} {
		editor.write(request(2, "initialize", `{}`))
		agent.read()
		agent.write(result(2, fmt.Sprintf(`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":%v}}}`, http)))
		editor.read()
		want := []string{"a", "a-2"}
		if http {
			want = append(want, "web")
		}
		require.Equal(t, want, added("session/new", `{}`))
	}

	only := acpproxy.Config{MCPServers: []acp.MCPServer{{}}}
	_ = problems(&only)
	editor, agent, _ = serve(t, only)
	editor.write(request(1, "session/new", `{}`))
	require.Contains(t, agent.read(), `"mcpServers":[]`)
}

// TestStreamsThatFailAreNamed has each stream fail.
func TestStreamsThatFailAreNamed(t *testing.T) {
	broken := errors.New("broken")
	for want, streams := range map[string]func() (fromEditor io.Reader, toEditor io.Writer, fromAgent io.Reader, toAgent io.Writer){
		"acpproxy: read from the editor: broken": func() (io.Reader, io.Writer, io.Reader, io.Writer) {
			r, _ := acp.Pipe()
			return failing{broken}, io.Discard, r, io.Discard
		},
		"acpproxy: read from the agent: broken": func() (io.Reader, io.Writer, io.Reader, io.Writer) {
			r, _ := acp.Pipe()
			return r, io.Discard, failing{broken}, io.Discard
		},
		"acpproxy: write to the editor: broken": func() (io.Reader, io.Writer, io.Reader, io.Writer) {
			r, _ := acp.Pipe()
			s, w := acp.Pipe()
			go func() { _, _ = w.Write([]byte("{}\n")) }()
			return r, failing{broken}, s, io.Discard
		},
		"acpproxy: config: MaxLine and Grace must not be negative": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			if streams == nil {
				for _, c := range []acpproxy.Config{{MaxLine: -1}, {Grace: -1}} {
					require.EqualError(t, acpproxy.Serve(t.Context(), nil, nil, nil, nil, c), want)
				}
				return
			}
			fromEditor, toEditor, fromAgent, toAgent := streams()
			err := acpproxy.Serve(t.Context(), fromEditor, toEditor, fromAgent, toAgent, acpproxy.Config{})
			require.EqualError(t, err, want)
			require.ErrorIs(t, err, broken)
		})
	}
}

// TestGraceByDefault has an agent that goes on after its editor, for five seconds.
func TestGraceByDefault(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			editor, agent, wait := serve(t, acpproxy.Config{Grace: given})
			began := time.Now()
			require.NoError(t, editor.out.Close())
			require.Empty(t, agent.read(), "its input has ended")
			agent.write(`{"jsonrpc":"2.0","method":"last"}`)
			editor.expect(`{"jsonrpc":"2.0","method":"last"}`)
			require.NoError(t, wait())
			require.Equal(t, want, time.Since(began))
		})
	}
}

// TestOpenRequestsAreAnsweredUpToABound has 10,001 requests without an answer when the agent ends, and one whose id is long.
func TestOpenRequestsAreAnsweredUpToABound(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	ask := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}` }
	for _, ids := range [][]string{{long(255), long(256)}, nil} {
		want := 1
		if ids == nil {
			want = 10_000
			for i := range 10_001 {
				ids = append(ids, fmt.Sprint(i))
			}
		}
		editor, agent, wait := serve(t, acpproxy.Config{})
		for _, id := range ids {
			editor.write(ask(id))
			agent.expect(ask(id))
		}
		require.NoError(t, agent.out.Close())
		answered := 0
		for line := editor.read(); line != ""; line = editor.read() {
			require.Contains(t, line, `"message":"m: the agent has ended"`)
			answered++
		}
		require.Equal(t, want, answered)
		require.ErrorIs(t, wait(), acpproxy.ErrAgentEnded)
	}
}
