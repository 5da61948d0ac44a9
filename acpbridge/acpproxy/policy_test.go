// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// says is a policy that says the same of everything.
func says(v toolset.Verdict) acpproxy.Policy {
	return func(*acpproxy.Request) acpproxy.Verdict { return acpproxy.Verdict{Verdict: v, Reason: "house\nrules"} }
}

func question(options string) string {
	return request(7, acp.MethodRequestPermission, `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[`+options+`]}`)
}

// Options of each kind, whose ids do not tell it.
const (
	allowOnce    = `{"optionId":"1","name":"Yes","kind":"allow_once"}`
	allowAlways  = `{"optionId":"2","name":"Always","kind":"allow_always"}`
	rejectOnce   = `{"optionId":"3","name":"No","kind":"reject_once"}`
	rejectAlways = `{"optionId":"4","name":"Never","kind":"reject_always"}`
)

func TestPolicyAnswersQuestions(t *testing.T) {
	all := allowAlways + "," + allowOnce + "," + rejectAlways + "," + rejectOnce
	for name, c := range map[string]struct {
		verdict toolset.Verdict
		options string
		want    string // the id of the option, "cancelled", or "" for a question that goes to the editor
	}{
		"allowed":                       {toolset.VerdictAllow, all, "1"},
		"allowed, but only always":      {toolset.VerdictAllow, allowAlways + "," + rejectOnce, ""},
		"allowed, with an ambiguous id": {toolset.VerdictAllow, allowOnce + `,{"optionId":"1","name":"Always","kind":"allow_always"}`, ""},
		"denied":                        {toolset.VerdictDeny, all, "3"},
		"denied, but only for ever":     {toolset.VerdictDeny, allowOnce + "," + rejectAlways, "cancelled"},
		"denied, without a way to":      {toolset.VerdictDeny, allowOnce, "cancelled"},
		"denied, with an ambiguous id":  {toolset.VerdictDeny, `{"optionId":"1","name":"No","kind":"reject_once"},` + allowOnce, "cancelled"},
		"undecided":                     {"", all, ""},
		"deferred":                      {toolset.VerdictDefer, all, ""},
		"to be asked":                   {approval.VerdictAsk, all, ""},
		"an unknown verdict":            {"maybe", all, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			editor, agent, _ := serve(t, acpproxy.Config{Policy: says(c.verdict)})
			agent.write(question(c.options), "", `{"jsonrpc":"2.0","method":"after"}`)
			switch c.want {
			case "":
				editor.expect(question(c.options))
			case "cancelled":
				require.JSONEq(t, result(7, `{"outcome":{"outcome":"cancelled"}}`), agent.read())
			default:
				require.JSONEq(t, result(7, `{"outcome":{"outcome":"selected","optionId":"`+c.want+`"}}`), agent.read())
			}
			editor.expect("", `{"jsonrpc":"2.0","method":"after"}`)
		})
	}
}

func TestPolicyDecidesAboutFilesAndCommands(t *testing.T) {
	requests := []string{
		request(1, acp.MethodReadTextFile, `{"sessionId":"s","path":"/repo/.env"}`),
		request(2, acp.MethodWriteTextFile, `{"sessionId":"s","path":"/repo/a","content":"x"}`),
		request(3, acp.MethodCreateTerminal, `{"sessionId":"s","command":"rm","args":["-rf","/"],"env":[{"name":"A","value":"1"}],"cwd":"/repo"}`),
	}
	var seen []acpproxy.Request
	deny := func(r *acpproxy.Request) acpproxy.Verdict {
		seen = append(seen, *r)
		return says(toolset.VerdictDeny)(r)
	}
	editor, agent, _ := serve(t, acpproxy.Config{Policy: deny})
	agent.write(append(requests, request(4, acp.MethodTerminalOutput, `{"sessionId":"s","terminalId":"t"}`))...)
	editor.expect(request(4, acp.MethodTerminalOutput, `{"sessionId":"s","terminalId":"t"}`))
	for range requests {
		require.Contains(t, agent.read(), `"error":{"code":-32600,"message":"a policy denies this: house rules"}`)
	}
	require.Len(t, seen, 3)
	require.Equal(t, "/repo/.env", seen[0].Read.Path)
	require.Equal(t, "read_file", seen[0].Approval.Tool)
	require.Equal(t, "x", *seen[1].Approval.Approval.Preview[0].Diff.New)
	require.Equal(t, toolset.CommandLine{Args: []string{"rm", "-rf", "/"}, Env: []string{"A=1"}, Dir: "/repo"}, *seen[2].Approval.Approval.Preview[0].Command)

	editor, agent, _ = serve(t, acpproxy.Config{Policy: says(toolset.VerdictAllow)})
	agent.write(requests...)
	editor.expect(requests...)
}

func TestPolicySeesWhatUpdatesHaveSaid(t *testing.T) {
	var seen toolset.ApprovalRequest // written before the question goes on
	editor, agent, _ := serve(t, acpproxy.Config{Policy: func(r *acpproxy.Request) acpproxy.Verdict {
		seen = r.Approval
		return acpproxy.Verdict{}
	}})
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
	}
	lines := []string{
		update(`{"sessionUpdate":"tool\u005fcall","toolCallId":"c","name":"change","title":"Edit","kind":"edit","rawInput":{"command":"make all"}}`),
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"diff","path":"/repo/a","newText":"x"},{"type":"content","content":{"type":"text","text":"why"}}]}`),
		question(allowOnce),
	}
	agent.write(lines...)
	editor.expect(lines...)
	require.Equal(t, []string{"Edit", "change"}, []string{seen.Title, seen.Tool})
	require.Equal(t, toolset.KindEdit, seen.Kind)
	require.Len(t, seen.Approval.Preview, 3)
	require.Equal(t, "make all", seen.Approval.Preview[2].Command.Line)

	lines = []string{update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`), question(allowOnce)}
	agent.write(lines...)
	editor.expect(lines...)
	require.Empty(t, seen.Approval.Preview, "a call that has ended is forgotten")
}

// A later update of a call cannot take back what an earlier one has said of what it does: the policy
// is asked about both.
func TestLaterUpdatesHideNothing(t *testing.T) {
	const diff = `"content":[{"type":"diff","path":"/repo/%s","newText":"%s"}]`
	a, a2, b := fmt.Sprintf(diff, "a", "1"), fmt.Sprintf(diff, "a", "2"), fmt.Sprintf(diff, "b", "1")
	const terminal, text = `"content":[{"type":"terminal","terminalId":"t"}]`, `"content":[{"type":"content","content":{"type":"text","text":"why"}}]`
	for _, c := range []struct{ first, then, want string }{
		{`"kind":"edit"`, `"kind":"read"`, "edit T [] []"},
		{`"kind":"read"`, `"kind":"edit"`, "edit T [] []"},
		{`"kind":"read"`, `"kind":"search"`, "search T [] []"},
		{`"kind":"search"`, `"title":"U"`, "search U [] []"},
		{`"kind":"think"`, `"kind":"fetch"`, "fetch T [] []"},
		{`"kind":"execute"`, `"kind":"other"`, "execute T [] []"},
		{`"title":"T"`, `"kind":"delete"`, "delete T [] []"},
		{`"kind":"edit",` + a, b, "edit T [/repo/b=1 /repo/a=1] [/repo/b /repo/a]"},
		{`"kind":"edit",` + a, a2, "edit T [/repo/a=2] [/repo/a]"},
		{`"kind":"edit",` + a, text, "edit T [why /repo/a=1] [/repo/a]"},
		{`"kind":"edit",` + a, `"content":[]`, "edit T [/repo/a=1] [/repo/a]"},
		{`"kind":"edit",` + text, a, "edit T [/repo/a=1] [/repo/a]"},
		{`"kind":"read",` + terminal, text, "read T [why] []"},
		{`"kind":"read","locations":[{"path":"/repo/x"}]`, `"locations":[{"path":"/repo/y"}]`, "read T [] [/repo/y /repo/x]"},
		{`"kind":"read","rawInput":{"path":"/repo/x"}`, `"rawInput":{"path":"/repo/y"}`, "read T [] [/repo/x /repo/y]"},
		{`"kind":"read","rawInput":{"path":"/repo/x"}`, `"rawInput":{}`, "read T [] [/repo/x]"},
		{`"kind":"execute","rawInput":{"command":"rm x"}`, `"rawInput":{ }`, "execute T [rm x] [x]"},
		{`"kind":"execute","rawInput":{"command":"rm x"}`, `"rawInput":null`, "execute T [rm x] [x]"},
		{`"kind":"execute","rawInput":{"command":"rm x"}`, `"rawInput":[]`, "execute T [rm x] [x]"},
		{`"kind":"execute","rawInput":{"command":"rm x"}`, `"rawInput":{"command":"ls"}`, "execute T [ls] []"},
		{`"kind":"read","rawInput":{"weird":{"x":1}}`, `"rawInput":{"path":"/repo/y"}`, `read T [] []`},
		{`"kind":"edit","status":"completed",` + a, `"kind":"read"`, "read - [] []"},
		{`"kind":"edit","status":"failed",` + a, `"kind":"read"`, "read - [] []"},
		{`"kind":"edit","status":"in_progress",` + a, `"kind":"read"`, "edit T [/repo/a=1] [/repo/a]"},
	} {
		var seen toolset.ApprovalRequest
		editor, agent, _ := serve(t, acpproxy.Config{Policy: func(r *acpproxy.Request) acpproxy.Verdict {
			seen = r.Approval
			return acpproxy.Verdict{}
		}})
		title := `"title":"T",`
		if strings.Contains(c.first, `"title"`) {
			title = ""
		}
		lines := []string{
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c",` + title + c.first + `}}}`,
			strings.Replace(question(allowOnce), `"toolCallId":"c"`, `"toolCallId":"c",`+c.then, 1),
		}
		agent.write(lines...)
		editor.expect(lines...)
		shown, paths := []string{}, []string{}
		for _, p := range seen.Approval.Preview {
			switch {
			case p.Diff != nil:
				shown = append(shown, p.Diff.Path+"="+*p.Diff.New)
			case p.Command != nil:
				shown = append(shown, p.Command.Line)
			default:
				shown = append(shown, p.Text)
			}
		}
		for _, e := range seen.Approval.Effects {
			if e.Path != "" && !slices.Contains(paths, e.Path) {
				paths = append(paths, e.Path)
			}
		}
		got := fmt.Sprint(seen.Kind, " ", cmp.Or(seen.Title, "-"), " ", shown, " ", paths)
		assert.Equal(t, c.want, got, "%s, then %s", c.first, c.then)
	}
}

func TestLayersArePolicies(t *testing.T) {
	config, err := approval.ParseConfig([]byte(`{"rules":[{"decision":"deny","tool":"write_file","path":"**/.git/**"}]}`))
	require.NoError(t, err)
	layer, err := config.Layer("/repo")
	require.NoError(t, err)
	policy := acpproxy.Layers(layer)
	editor, agent, _ := serve(t, acpproxy.Config{Policy: policy})
	fine := request(1, acp.MethodWriteTextFile, `{"sessionId":"s","path":"/repo/a","content":"x"}`)
	agent.write(fine, request(2, acp.MethodWriteTextFile, `{"sessionId":"s","path":"/repo/.git/config","content":"x"}`))
	editor.expect(fine)
	require.Contains(t, agent.read(), "a policy denies this")

	_, agent, _ = serve(t, acpproxy.Config{Policy: acpproxy.Layers(approval.ReadOnly())})
	agent.write(request(1, acp.MethodCreateTerminal, `{"sessionId":"s","command":"ls"}`))
	require.Contains(t, agent.read(), "a policy denies this")
}

func TestPolicyThatPanicsDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which ends at once if nobody answers
		_, agent, _ := serve(t, acpproxy.Config{Policy: func(*acpproxy.Request) acpproxy.Verdict { panic("oops") }})
		agent.write(request(1, acp.MethodWriteTextFile, `{"sessionId":"s","path":"/a","content":""}`), question(allowOnce))
		require.Contains(t, agent.read(), "the policy failed")
		require.Contains(t, agent.read(), "cancelled")
	})
}

// What one reader takes for a harmless message, another one may take for a write.
func TestNothingIsSmuggledPastThePolicy(t *testing.T) {
	const write = `"method":"fs/write_text_file"`
	config := acpproxy.Config{Policy: says(toolset.VerdictDeny)}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,` + write + `,"method":"session/x","params":{"sessionId":"s","path":"/a","content":""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","M\u0065thod":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":""}}`,
		`{"jsonrpc":"2.0","id":1,` + write + `,"params":{"sessionId":"s","path":"/ok","path":"/a","content":""}}`,
		`{"jsonrpc":"2.0","id":1,` + write + `,"params":{"sessionId":"s","path":7,"content":""}}`,
		`{"jsonrpc":"2.0","id":1,` + write + `}`,
	} {
		agent.write(line)
		require.Contains(t, agent.read(), `"id":1,"error"`, line)
		require.NotEmpty(t, problem())
	}
	for _, line := range []string{
		`[{"jsonrpc":"2.0","id":1,` + write + `,"params":{"sessionId":"s","path":"/a","content":""}}]`,
		`{"jsonrpc":"2.0","id":1,` + write + `,"params":{"sessionId":"s","path":"/a","content":""}},`,
		"\ufeff" + `{"jsonrpc":"2.0","id":1,` + write + `,"params":{}}`,
		`{"id":1,` + write + `,"params":{"sessionId":"s","path":"/a","content":""}}`,
		`{"jsonrpc":"2.0","id":1.5,` + write + `,"params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x"}` + "\r" + `{"jsonrpc":"2.0","id":1,` + write + `,"params":{}}`,
	} {
		agent.write(line)
	}
	inner := `{"jsonrpc":"2.0","id":1,` + write + `,"params":{}}`
	// None of the lines above comes before these.
	agent.write("\r"+`{"jsonrpc":"2.0","method":"v"}`, `{"jsonrpc":"2.0","method":"w","params":"`+"\u2029"+`"}`, `{"jsonrpc":"2.0","method":"w","params":"`+"\u0085"+`"}`)
	editor.expect(` {"jsonrpc":"2.0","method":"v"}`, `{"jsonrpc":"2.0","method":"w","params":"\u2029"}`, `{"jsonrpc":"2.0","method":"w","params":"\u0085"}`)
	agent.write(`{"jsonrpc":"2.0","method":"x","params":`+"\r"+inner+"\r}", `{"jsonrpc":"2.0","method":"y","params":"a`+"\u2028"+`b"}`, "{\"jsonrpc\":\"2.0\",\"method\":\"z\"}\r")
	editor.expect(`{"jsonrpc":"2.0","method":"x","params": `+inner+" }", `{"jsonrpc":"2.0","method":"y","params":"a\u2028b"}`, "{\"jsonrpc\":\"2.0\",\"method\":\"z\"}\r")
}

// A client may do what it is asked although nobody waits for the answer.
func TestRequestsWithoutAnIDDoNotPass(t *testing.T) {
	editor, agent, _ := serve(t, acpproxy.Config{Policy: says("")})
	agent.write(`{"jsonrpc":"2.0","method":"fs/write_text_file","params":{"sessionId":"s","path":"/a","content":""}}`, `{"jsonrpc":"2.0","method":"after"}`)
	editor.expect(`{"jsonrpc":"2.0","method":"after"}`)
}

func TestAgentThatReadsNoAnswersGetsNoMoreMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := acpproxy.Config{Policy: says(toolset.VerdictDeny)}
		refused := 0
		config.OnProblem = func(error) { refused++ }
		_, agent, _ := serve(t, config)
		long := strings.Replace(question(rejectOnce), "7", `"`+strings.Repeat("7", 1000)+`"`, 1)
		for range 2000 {
			agent.write(long)
		}
		synctest.Wait()
		require.Positive(t, refused)
	})
}

func TestToolCallsThatAreKeptAreBounded(t *testing.T) {
	seen := make(chan int, 2)
	editor, agent, _ := serve(t, acpproxy.Config{Policy: func(r *acpproxy.Request) acpproxy.Verdict {
		seen <- len(r.Approval.Approval.Preview)
		return acpproxy.Verdict{}
	}})
	big, err := json.Marshal(strings.Repeat("x", 256<<10))
	require.NoError(t, err)
	go func() {
		for i := range 40 {
			agent.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c` + strconv.Itoa(i) + `","title":"T","content":[{"type":"content","content":{"type":"text","text":` + string(big) + `}}]}}}`)
		}
		agent.write(strings.Replace(question(allowOnce), `"c"`, `"c0"`, 1), strings.Replace(question(allowOnce), `"c"`, `"c39"`, 1))
	}()
	for range 42 {
		editor.read()
	}
	require.Equal(t, 1, <-seen)
	require.Zero(t, <-seen)
}
