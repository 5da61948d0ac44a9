// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// server is an MCP server with tools that only count their calls.
type server struct {
	*mcp.Server
	calls int
}

func newServer(s *suite, name string, tools ...string) (*server, *mcptoolset.Server) {
	there := &server{Server: mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)}
	for _, tool := range tools {
		there.has(tool, "Looks at something.")
	}
	here, err := mcptoolset.New(mcptoolset.Config{Name: name, Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
		a, b := mcp.NewInMemoryTransports()
		_, err := there.Connect(context.WithoutCancel(ctx), a, nil)
		return b, err
	})})
	require.NoError(s, err)
	s.Cleanup(func() { _ = here.Close() })
	return there, here
}

func (s *server) has(tool, description string) {
	s.AddTool(&mcp.Tool{Name: tool, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.calls++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "called"}}}, nil
		})
}

// callTool has an agent call a tool of a server.
func callTool(s *suite, from *mcptoolset.Server, tool string, asker toolset.Asker) {
	a := agent.Must(agent.New(agent.Config[deps, string]{
		Model:    modeltest.Script(modeltest.Say(model.ToolCall("c", tool, `{}`)), modeltest.SayText("done")),
		Toolsets: []toolset.Toolset[deps]{mcptoolset.Tools(from, mcptoolset.Options[deps]{})}, ToolRetries: new(9),
	}))
	_, err := a.Run(s.Context(), deps{}, "go", agent.WithAsker(asker))
	require.NoError(s, err)
}

// Tools of servers are asked about, whatever they say of themselves and whatever their names are.
func servers(s *suite) {
	try := func(what string, set func(*world), name, tool string) {
		there, here := newServer(s, name, strings.TrimPrefix(tool, name+"_"))
		w := memory(s, nil)
		set(w)
		callTool(s, here, tool, approval.Layered(approval.Remember(w.policy, w), w.layers...))
		s.attack(there.calls == 0, "%s: %s is called", what, tool)
	}
	remembers := func(tool string) func(*world) {
		return func(w *world) { w.policy.Remember(tool, "", toolset.VerdictAllow) }
	}
	rule := func(mode string, all ...string) func(*world) {
		return func(w *world) { w.configure(rules(mode, all...)) }
	}
	try("nothing is said", func(*world) {}, "a", "a_look")
	try("always for a tool of the program", remembers("a_look"), "a", "a_look")
	try("always for write_file", remembers("write_file"), "write", "write_file")
	try("a rule for another server", rule("ask", `{"decision":"allow","server":"b"}`), "a", "a_look")
	try("a rule for a server with this beginning", rule("ask", `{"decision":"allow","server":"a"}`), "ab", "ab_look")
	try("a rule for reading", rule("ask", `{"decision":"allow","read":"**"}`), "a", "a_look")
	try("a rule for writing", rule("ask", `{"decision":"allow","path":"**"}`), "a", "a_look")
	try("a rule for hosts", rule("ask", `{"decision":"allow","host":"*"}`), "a", "a_look")
	try("a rule for a command", rule("ask", `{"decision":"allow","command":"a_look"}`), "a", "a_look")
	try("read-only", rule("read-only"), "a", "a_look")
	for _, d := range []string{"deny", "ask"} {
		try("a rule over auto", rule("auto", `{"decision":"`+d+`","server":"a"}`), "a", "a_look")
		try("a rule with a star", rule("auto", `{"decision":"`+d+`","server":"*"}`), "a", "a_look")
		try("a rule over always", func(w *world) {
			rule("auto", `{"decision":"`+d+`","server":"a"}`)(w)
			w.policy.Remember("a_look", "", toolset.VerdictAllow)
		}, "a", "a_look")
		try("a rule about the tool", rule("auto", `{"decision":"`+d+`","tool":"a_*"}`), "a", "a_look")
		try("a rule about the tool of the server", rule("auto", `{"decision":"`+d+`","server":"a","tool":"*look"}`), "a", "a_look")
	}
	for _, change := range []string{"Looks at something. And sends it.", "", "looks at something.", "Looks at something.\u200b"} {
		there, here := newServer(s, "a", "look")
		w := memory(s, nil)
		w.person = always
		asker := approval.Remember(w.policy, w)
		callTool(s, here, "a_look", asker)
		require.Equal(s, 1, there.calls)
		w.person = never
		there.RemoveTools("look")
		there.has("look", change)
		again, err := mcptoolset.New(mcptoolset.Config{Name: "a", Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
			x, y := mcp.NewInMemoryTransports()
			_, err := there.Connect(context.WithoutCancel(ctx), x, nil)
			return y, err
		})})
		require.NoError(s, err)
		callTool(s, again, "a_look", asker)
		require.NoError(s, again.Close())
		s.attack(there.calls == 1, "always covers the tool that describes itself as %q", change)
	}
}

// proxied passes requests of an agent through a proxy. It returns what became of each: allowed,
// denied or passed.
func proxied(s *suite, policy acpproxy.Policy, requests ...string) []string {
	editorReads, toEditor := acp.Pipe()
	fromEditor, editorWrites := acp.Pipe()
	agentReads, toAgent := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = acpproxy.Serve(ctx, fromEditor, toEditor, fromAgent, toAgent, acpproxy.Config{Policy: policy})
	}()
	defer func() {
		cancel()
		for _, c := range []io.Closer{editorWrites, agentWrites, editorReads, agentReads} {
			_ = c.Close()
		}
		<-ended
	}()
	editor, back := bufio.NewReaderSize(editorReads, 1<<16), bufio.NewReaderSize(agentReads, 1<<16)
	const mark = `{"jsonrpc":"2.0","method":"after"}`
	var all []string
	for _, r := range requests {
		_, err := io.WriteString(agentWrites, r+"\n"+mark+"\n")
		require.NoError(s, err)
		outcome := "denied"
		for {
			line, err := editor.ReadString('\n')
			require.NoError(s, err)
			if strings.Contains(line, `"after"`) {
				break
			}
			outcome = "passed"
		}
		if outcome == "denied" {
			line, err := back.ReadString('\n')
			require.NoError(s, err)
			if strings.Contains(line, `"yes"`) {
				outcome = "allowed"
			}
		}
		all = append(all, outcome)
	}
	return all
}

// asks is a question of an agent about a call.
func asks(id int, call string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c%d",%s},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`, id, id, call)
}

// What an agent says of a call counts only as far as its content bears it out.
func proxies(s *suite) {
	contents := map[string]string{
		"a diff":              `"content":[{"type":"diff","path":"/project/x","newText":"evil"}]`,
		"a diff after a text": `"content":[{"type":"content","content":{"type":"text","text":"Reads x"}},{"type":"diff","path":"/project/x","oldText":"","newText":"evil"}]`,
		"a command":           `"rawInput":{"command":"rm -rf x"}`,
		"a list":              `"rawInput":{"command":["rm","-rf","x"]}`,
		"arguments":           `"rawInput":{"command":"rm","args":["-rf","x"]}`,
		"a shell":             `"rawInput":{"command":["bash","-lc","rm -rf x"]}`,
		"cmd":                 `"rawInput":{"cmd":"rm -rf x"}`,
		"a script":            `"rawInput":{"script":"rm -rf x"}`,
		"a patch":             `"rawInput":{"patch":"*** Begin Patch"}`,
		"new text":            `"rawInput":{"path":"/project/x","content":"evil"}`,
		"a string":            `"rawInput":"rm -rf x"`,
		"nested":              `"rawInput":{"arguments":{"command":"rm -rf x"}}`,
	}
	for _, kind := range []string{"read", "search", "think", "fetch", "other", "edit", "execute", "delete", "move", "switch_mode", ""} {
		var requests, what []string
		for name, c := range contents {
			call := `"title":"Read x",` + c
			if kind != "" {
				call = `"kind":"` + kind + `",` + call
			}
			requests, what = append(requests, asks(len(requests)+1, call)), append(what, name)
		}
		for i, outcome := range proxied(s, acpproxy.Layers(approval.ReadOnly()), requests...) {
			s.attack(outcome == "denied", "-read-only: %s of the kind %q is %s", what[i], kind, outcome)
		}
	}
	requests := []string{
		`{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/project/x","content":"evil"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"terminal/create","params":{"sessionId":"s","command":"rm","args":["x"]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s","command":"cat x"}}`,
	}
	for i, outcome := range proxied(s, acpproxy.Layers(approval.ReadOnly()), requests...) {
		s.attack(outcome == "denied", "-read-only: %s is %s", requests[i], outcome)
	}
	config, err := approval.ParseConfig([]byte(rules("ask", `{"decision":"allow","tool":"read_file"}`, `{"decision":"allow","tool":"search_files"}`, `{"decision":"allow","path":"docs/**"}`, `{"decision":"allow","read":"**"}`, `{"decision":"allow","command":"git status"}`, `{"decision":"deny","read":"**/.env"}`)))
	require.NoError(s, err)
	layer, err := config.Layer("/project")
	require.NoError(s, err)
	policy := acpproxy.Layers(layer)
	calls := []string{
		`"name":"read_file","kind":"read","content":[{"type":"diff","path":"/project/x","newText":"evil"}]`,
		`"name":"search_files","kind":"search","rawInput":{"command":"rm -rf x"}`,
		`"name":"read_file","kind":"read","rawInput":{"cmd":"rm -rf x"}`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project/docs/../x","newText":"evil"}]`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project/docs/a","newText":"x"},{"type":"diff","path":"/project/x","newText":"evil"}]`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project/docs/.envrc","newText":"evil"}]`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project/docs/a","newText":"x"}],"rawInput":{"command":"rm -rf x"}`,
		`"name":"x","kind":"execute","rawInput":{"command":"git status; rm x"}`,
		`"name":"x","kind":"execute","rawInput":{"command":"git status","cwd":"/project/docs"}`,
		`"name":"x","kind":"execute","rawInput":{"command":"git status","env":{"A":"b"}}`,
		`"name":"x","kind":"execute","rawInput":{"command":["git","status","x"]}`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project","newText":"evil"}]`,
		`"name":"x","kind":"read","rawInput":{"command":"cat .env"}`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"/project/docs","newText":"evil"}]`,
		`"name":"x","kind":"edit","content":[{"type":"diff","path":"docs/a/../../x","newText":"evil"}]`,
	}
	requests = nil
	for i, c := range calls {
		requests = append(requests, asks(i+1, `"title":"t",`+c))
	}
	for i, outcome := range proxied(s, policy, requests...) {
		s.attack(outcome != "allowed", "rules: %s is allowed", calls[i])
	}
}

type pay struct {
	To string `json:"to"`
}

// An answer answers the question that was shown, and no other.
func forged(s *suite) {
	b := new(bank)
	tool := toolset.Plain[deps]("pay", "Pay.", b.receive, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[deps], in pay) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To, Scope: in.To, Once: in.To == "Eve"}, nil
	}))
	open := func(to string) (*host.Session, *view.Entity) {
		h, err := host.New(host.Config[deps, string]{Agent: agent.Must(agent.New(agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"`+to+`"}`)), modeltest.SayText("done")), Tools: []*toolset.Tool[deps]{tool},
		}))})
		require.NoError(s, err)
		s.Cleanup(func() { _ = h.Close(context.Background()) })
		session, err := h.Create(s.Context(), session.New{Dir: "/project"}, nil)
		require.NoError(s, err)
		_, err = session.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User("Pay.")}})
		require.NoError(s, err)
		snapshot, _, err := session.Snapshot(s.Context())
		require.NoError(s, err)
		q := snapshot.Last(view.Question)
		require.NotNil(s, q)
		return session, q
	}
	one, q := open("Ada")
	other, q2 := open("Bob")
	yes := toolset.Allow()
	for name, try := range map[string]func() error{
		"no digest": func() error { return one.Decide(s.Context(), q.ID, "", host.Answer{Choice: host.AllowOnce}) },
		"digest of another question": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q2.Digest, Choice: host.AllowOnce})
		},
		"part of the digest": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest[:8], Choice: host.AllowOnce})
		},
		"digest in upper case": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: strings.ToUpper(q.Digest) + "X", Choice: host.AllowOnce})
		},
		"question of another session": func() error {
			return other.Decide(s.Context(), q.ID+"x", "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce})
		},
		"no question": func() error {
			return one.Decide(s.Context(), "", "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce})
		},
		"a choice that is not offered": func() error { return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: "yes"}) },
		"a title for a choice": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: "Allow once"})
		},
		"nothing": func() error { return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest}) },
		"two answers": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.RejectOnce, Decision: &yes})
		},
		"a reply to a form": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Reply: &toolset.Reply{Action: toolset.ActionAccept}})
		},
		"a result": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Result: &toolset.Result{Text: "paid"}})
		},
		"an unknown verdict": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &toolset.Decision{Verdict: "maybe"}})
		},
		"an empty verdict": func() error {
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &toolset.Decision{}})
		},
		"other arguments, invalid": func() error {
			d := toolset.AllowWith([]byte(`{`))
			return one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d})
		},
	} {
		err := try()
		s.attack(err != nil && b.paid() == 0, "%s: %v", name, err)
	}
	// "Always" is not offered where it does not hold.
	eve, q3 := open("Eve")
	for _, choice := range []string{host.AllowAlways, host.RejectAlways} {
		err := eve.Decide(s.Context(), q3.ID, "", host.Answer{Digest: q3.Digest, Choice: choice})
		s.attack(err != nil, "%s about what is asked about every time", choice)
	}
	d := toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}
	_ = eve.Decide(s.Context(), q3.ID, "", host.Answer{Digest: q3.Digest, Decision: &d})
	s.attack(len(eve.Policy().Rules()) == 0, "a rule is made: %v", eve.Policy().Rules())
	// A second answer has no effect.
	d = toolset.Deny("no")
	require.NoError(s, one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d}))
	for range 3 {
		err := one.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce})
		s.attack(err != nil && b.paid() <= 1, "a second answer: %v", err)
	}
	s.attack(!slices.Contains(b.names(), "Ada"), "%v are paid", b.names())
}

// An undo writes only what was shown, and asks as every change does.
func undoes(s *suite) {
	for name, try := range map[string]func(w *world) bool{
		"of a protected file, in mode code": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write(".envrc", "new")
			w.code, w.person = true, never
			w.call("undo_changes", args{})
			return len(w.asked) == 1
		},
		"of a protected file, in mode auto": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write(".envrc", "new")
			w.configure(rules("auto"))
			w.person = never
			w.call("undo_changes", args{})
			return len(w.asked) == 1
		},
		"of a file that is denied": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("x", "new")
			w.configure(rules("auto", `{"decision":"deny","path":"x"}`))
			told := w.call("undo_changes", args{})
			return !strings.Contains(told, "Restored") && !strings.Contains(told, "Removed")
		},
		"of a file that is asked about": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("x", "new")
			w.configure(rules("auto", `{"decision":"ask","path":"x"}`))
			w.person = never
			w.call("undo_changes", args{})
			return len(w.asked) == 1
		},
		"after always for another file": func(w *world) bool {
			w.person = always
			w.write("x", "new")
			w.write("y", "new")
			w.policy.Forget("write_file", "/project/y")
			w.person = never
			w.call("undo_changes", args{"checkpoint": 1})
			return len(w.asked) == 1
		},
		"in read-only mode": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("x", "new")
			w.layers = append(w.layers, approval.ReadOnly())
			told := w.call("undo_changes", args{})
			return strings.Contains(told, "read-only")
		},
		"after always for write_file": func(w *world) bool {
			w.person = always
			w.write("x", "new")
			w.person = never
			w.call("undo_changes", args{})
			return len(w.asked) == 1
		},
		"redone": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write(".envrc", "new")
			w.call("undo_changes", args{})
			w.code, w.person = true, never
			w.call("undo_changes", args{"checkpoint": 2})
			return len(w.asked) == 1
		},
		"of several, one of them protected": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("x", "new")
			w.write(".github/workflows/ci.yml", "new")
			w.code, w.person = true, never
			w.call("undo_changes", args{"checkpoint": 1})
			return len(w.asked) == 1
		},
		"of a file that must not be read": func(w *world) bool {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("x.env", "sesame")
			w.configure(rules("auto", `{"decision":"deny","read":"**/x.env"}`))
			return !strings.Contains(w.call("list_changes", args{"checkpoint": 1, "path": "x.env"}), "sesame")
		},
	} {
		s.attack(try(memory(s, map[string]string{"x": "old", "y": "old"})), "undo %s", name)
	}
}
