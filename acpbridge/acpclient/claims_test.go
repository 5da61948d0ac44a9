// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// claimed is what an agent says of a call: in updates before, and in the question.
type claimed struct {
	before []string
	asks   string
}

// outcomes has an agent ask about calls, and returns which of them were allowed, and which of them a
// person was asked about.
func outcomes(t *testing.T, config string, calls []claimed) (allowed, asked []bool) {
	c, err := approval.ParseConfig([]byte(config))
	require.NoError(t, err)
	layer, err := c.Layer("/repo")
	require.NoError(t, err)
	questions := 0
	person := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		questions++
		return toolset.Deny("no"), nil
	}}
	ask := acpclient.AskWith(approval.Layered(approval.Remember(new(approval.Policy), person), layer))
	s := begin(t, acpclient.Config{Workspace: newWorkspace(t, workspace.MemoryPrint("", 0)), Permission: ask}, func(a *raw) {
		a.open()
		a.turn(func() {
			for i, call := range calls {
				id := fmt.Sprintf("c%d", i)
				for j, b := range call.before {
					kind := "tool_call_update"
					if j == 0 {
						kind = "tool_call"
					}
					a.update(fmt.Sprintf(`{"sessionUpdate":%q,"toolCallId":%q,"title":"Look",%s}`, kind, id, b))
				}
				before := questions
				m := a.call("session/request_permission", fmt.Sprintf(`{"sessionId":"s","toolCall":{"toolCallId":%q,"title":"Look",%s},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"yes always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}`, id, call.asks))
				allowed = append(allowed, strings.Contains(string(m.Result), `"yes`))
				asked = append(asked, questions > before)
			}
		})
		a.wait()
	})
	_, err = s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Len(t, allowed, len(calls))
	return allowed, asked
}

// TestClaimsOfAgentsHideNothing attacks rules and modes by what an agent says of its calls: files and
// hosts count wherever it names them, what a call shows counts more than its kind and its name, and
// what has been said cannot be taken back.
func TestClaimsOfAgentsHideNothing(t *testing.T) {
	tried, failed := 0, 0
	attack := func(config string, mayAsk bool, calls ...claimed) {
		allowed, asked := outcomes(t, config, calls)
		for i, c := range calls {
			tried++
			if allowed[i] || asked[i] && !mayAsk {
				failed++
				t.Errorf("allowed %v, asked %v: %v and then %s", allowed[i], asked[i], c.before, c.asks)
			}
		}
	}
	plain := func(asks ...string) (all []claimed) {
		for _, a := range asks {
			all = append(all, claimed{asks: a})
		}
		return all
	}
	named := func(kind, file string) (all []string) {
		for _, name := range []string{file, "/repo/" + file, "/repo/./" + file, "/repo/x/../" + file, strings.ToUpper(file), "./" + file, "/repo//" + file} {
			for _, where := range []string{
				`"locations":[{"path":%q}]`, `"locations":[{"path":"/repo/a"},{"path":%q,"line":1}]`, `"rawInput":{"path":%q}`, `"rawInput":{"file_path":%q}`, `"rawInput":{"filePath":%q,"limit":1}`, `"rawInput":{"absolute-path":%q}`, `"rawInput":{"paths":["a",%q]}`, `"rawInput":{"uri":"file://%.0s/repo/` + file + `"}`,
				`"rawInput":{"path":"a"},"locations":[{"path":%q}]`, `"content":[{"type":"content","content":{"type":"text","text":"a"}}],"rawInput":{"file":%q}`, `"rawInput":{"Path":%q}`, `"rawInput":{"relative_path":%q}`,
			} {
				all = append(all, fmt.Sprintf(`"kind":%q,`+where, kind, name))
			}
		}
		return all
	}
	rules := `{"mode":"auto","rules":[{"decision":"deny","read":"**/.env"},{"decision":"deny","path":"secret/**"},{"decision":"deny","host":"*.evil.example"}]}`
	for _, kind := range []string{"read", "search", "think", "fetch", "execute"} {
		attack(rules, false, plain(named(kind, ".env")...)...)
	}
	for _, kind := range []string{"read", "search"} { // and take it back
		for _, b := range named(kind, ".env") {
			attack(rules, false, claimed{[]string{b}, `"kind":"read","rawInput":{"path":"a"},"locations":[]`}, claimed{[]string{b, `"kind":"read","locations":[{"path":"a"}]`}, `"rawInput":{"path":"a"}`})
		}
	}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf(`"kind":"read","rawInput":{"path":"%d"}`, i))
	}
	attack(`{"mode":"read-only"}`, false, claimed{many, `"kind":"read"`})
	for _, kind := range []string{"edit", "delete", "move", "other", "switch_mode", ""} {
		attack(rules, false, plain(named(kind, "secret/x")...)...)
		attack(rules, true, plain(named(kind, ".envrc")...)...) // protected: the person is asked
		attack(rules, true, plain(named(kind, ".git/config")...)...)
	}
	for _, kind := range []string{"read", "fetch", "other", "edit", "search"} {
		for _, in := range []string{`{"url":"https://a.evil.example/x"}`, `{"uri":"http://EVIL.example:80"}`, `{"url":"https://u:p@evil.example"}`, `{"url":["https://x.example","https://evil.example"]}`} {
			attack(rules, false, claimed{asks: fmt.Sprintf(`"kind":%q,"rawInput":%s`, kind, in)})
		}
	}
	// What a call shows counts more than its kind.
	contents := []string{
		`"content":[{"type":"diff","path":"/repo/x","newText":"evil"}]`, `"content":[{"type":"content","content":{"type":"text","text":"Reads x"}},{"type":"diff","path":"/repo/x","oldText":"","newText":"evil"}]`, `"rawInput":{"command":"rm -rf x"}`, `"rawInput":{"command":["rm","-rf","x"]}`, `"rawInput":{"command":"rm","args":["-rf","x"]}`,
		`"rawInput":{"command":["bash","-lc","rm -rf x"]}`, `"rawInput":{"cmd":"rm -rf x"}`, `"rawInput":{"script":"rm -rf x"}`, `"rawInput":{"patch":"*** Begin Patch"}`, `"rawInput":{"path":"/repo/x","content":"evil"}`, `"rawInput":"rm -rf x"`, `"rawInput":{"arguments":{"command":"rm -rf x"}}`, `"rawInput":{"Command":"rm -rf x"}`,
		`"content":[{"type":"terminal","terminalId":"t"}]`, `"content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"terminal","terminalId":"t"}]`,
	}
	readOnly := `{"mode":"read-only"}`
	for _, kind := range []string{"read", "search", "think"} {
		var calls []claimed
		for _, c := range contents {
			calls = append(calls, claimed{asks: fmt.Sprintf(`"kind":%q,%s`, kind, c)})
			for _, after := range []string{`"title":"y"`, `"content":[]`, `"content":[],"rawInput":{},"locations":[]`, `"content":[],"rawInput":null`, `"rawInput":[],"content":[]`, `"content":[],"rawInput":{ }`} { // taken back
				calls = append(calls, claimed{[]string{fmt.Sprintf(`"kind":%q,%s`, kind, c)}, fmt.Sprintf(`"kind":%q,%s`, kind, after)},
					claimed{[]string{fmt.Sprintf(`"kind":%q,%s`, kind, c), `"kind":"read",` + after}, `"kind":"read"`})
			}
		}
		for _, before := range []string{`"kind":"delete"`, `"kind":"move"`, `"kind":"edit"`, `"kind":"execute"`, `"kind":"other"`} {
			calls = append(calls, claimed{[]string{before}, fmt.Sprintf(`"kind":%q`, kind)})
		}
		attack(readOnly, false, calls...)
	}
	// The name of a tool of the program.
	names := `{"rules":[{"decision":"allow","tool":"read_file"},{"decision":"allow","tool":"search_files"},{"decision":"allow","tool":"list_files"},{"decision":"allow","path":"docs/**"},{"decision":"allow","read":"**"},{"decision":"allow","command":"git status"},{"decision":"deny","read":"**/.env"}]}`
	var calls []claimed
	for _, tool := range []string{"read_file", "search_files", "list_files"} {
		for _, kind := range []string{"read", "search", "edit", "other", "execute"} {
			for _, c := range contents {
				calls = append(calls, claimed{asks: fmt.Sprintf(`"name":%q,"kind":%q,%s`, tool, kind, c)})
			}
		}
	}
	for _, c := range []string{
		`"kind":"edit","content":[{"type":"diff","path":"/repo/docs/../x","newText":"evil"}]`, `"kind":"edit","content":[{"type":"diff","path":"/repo/docs/a","newText":"x"},{"type":"diff","path":"/repo/x","newText":"evil"}]`, `"kind":"edit","content":[{"type":"diff","path":"/repo/docs/.envrc","newText":"evil"}]`,
		`"kind":"edit","content":[{"type":"diff","path":"/repo/docs/a","newText":"x"}],"rawInput":{"command":"rm -rf x"}`, `"kind":"execute","rawInput":{"command":"git status; rm x"}`, `"kind":"execute","rawInput":{"command":"git status","cwd":"/repo/docs"}`, `"kind":"execute","rawInput":{"command":"git status","env":{"A":"b"}}`,
		`"kind":"edit","content":[{"type":"diff","path":"/repo/docs","newText":"evil"}]`, `"kind":"read","rawInput":{"command":"cat .env"}`, `"kind":"edit","content":[{"type":"diff","path":"docs/a/../../x","newText":"evil"}]`, `"kind":"edit","content":[{"type":"diff","path":"/repo/docs/a","newText":"x"},{"type":"terminal","terminalId":"t"}]`,
	} {
		calls = append(calls, claimed{asks: c})
	}
	attack(names, true, calls...)
	t.Logf("%d of %d claims hid nothing", tried-failed, tried)
	require.GreaterOrEqual(t, tried, 1000)
}

// TestPeopleSeeWhatAgentsTakeBack: the question about a call shows what was said of it before.
func TestPeopleSeeWhatAgentsTakeBack(t *testing.T) {
	var shown toolset.ApprovalRequest
	ask := acpclient.AskWith(toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		shown = r
		return toolset.Deny("no"), nil
	}})
	s := begin(t, acpclient.Config{Workspace: newWorkspace(t, workspace.MemoryPrint("", 0)), Permission: ask}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"Look","kind":"edit","content":[{"type":"diff","path":"/repo/.envrc","newText":"evil"}]}`)
			a.call("session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Look","kind":"read","content":[]},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]}`)
		})
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Len(t, shown.Approval.Preview, 1)
	require.Equal(t, "/repo/.envrc", shown.Approval.Preview[0].Diff.Path)
	require.True(t, shown.Once, "it is asked about every time")
}
