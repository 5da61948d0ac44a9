// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
)

// What an agent says of a call becomes its previews and effects. A change that is not shown, and what nobody can read, may be anything.
func TestCallsAreDescribed(t *testing.T) {
	describes := func(call string) string {
		var u acp.ToolCallUpdate
		require.NoError(t, json.Unmarshal([]byte(call), &u))
		a := &toolset.ApprovalRequest{}
		describe(a, &u)
		var shown []string
		for _, p := range a.Approval.Preview {
			switch {
			case p.Diff != nil:
				shown = append(shown, "diff "+p.Diff.Path)
			case p.Command != nil:
				shown = append(shown, fmt.Sprint("command ", p.Command.Line, p.Command.Args))
			default:
				shown = append(shown, "text "+p.Text)
			}
		}
		var effects []string
		for _, e := range a.Approval.Effects {
			effects = append(effects, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Path)))
		}
		return fmt.Sprintf("%s %q; %s; %s; %s", a.Tool, a.Title, strings.Join(a.Path, "/"), strings.Join(shown, ", "), strings.Join(effects, ", "))
	}
	for call, want := range map[string]string{
		`{"toolCallId":"c"}`: `agent_tool ""; c; ; `, `{"toolCallId":"c","name":"","title":"T"}`: `agent_tool "T"; c; ; `,
		`{"toolCallId":"c","name":"edit","title":"T","kind":"edit","content":[{"type":"diff","path":"/a","newText":"n"}]}`:                 `edit "T"; c; diff /a; `,
		`{"toolCallId":"c","kind":"read","locations":[{"path":"/a"}]}`:                                                                     `agent_tool ""; c; ; read /a`,
		`{"toolCallId":"c","kind":"edit","locations":[{"path":"/a"}]}`:                                                                     `agent_tool ""; c; ; write /a, unknown`,
		`{"toolCallId":"c","kind":"edit","locations":[{"path":"/a"}],"content":[{"type":"content","content":{"type":"text","text":"x"}}]}`: `agent_tool ""; c; text x; write /a`,
		`{"toolCallId":"c","kind":"execute","rawInput":{"command":"ls"}}`:                                                                  `agent_tool ""; c; command ls[]; `,
		`{"toolCallId":"c","kind":"read","content":[{"type":"terminal","terminalId":"t"}]}`:                                                `agent_tool ""; c; ; unknown`,
		`{"toolCallId":"c","kind":"read","rawInput":{"path":"/p"}}`:                                                                        `agent_tool ""; c; ; read /p`,
		`{"toolCallId":"c","kind":"fetch","rawInput":{"url":"https://a.example"}}`:                                                         `agent_tool ""; c; ; host`,
	} {
		require.Equal(t, want, describes(call), call)
	}
}
