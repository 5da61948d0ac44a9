// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// Of a call the client is told when it is announced, when it runs and when it has ended: nothing twice, and nothing that takes back what was
// said before.
func TestNoUpdateOfACallIsAnEcho(t *testing.T) {
	all := []model.Part{
		call("write", "write_file", args{"path": "b", "content": "new\n"}),
		call("edit", "edit_file", editArgs("a", "old", "new")),
		call("command", "run_command", args{"command": "make"}),
		call("read", "read_file", args{"path": "a"}),
		call("list", "list_files", args{}),
		call("search", "search_files", args{"pattern": "new"}),
		call("missing", "read_file", args{"path": "nowhere"}),
		call("refused", "edit_file", editArgs("a", "not there", "x")),
	}
	for name, options := range map[string][]acpbridge.ToolsetOption{"asked": nil, "allowed": {acpbridge.WithPermissions(acpbridge.AllowAll)}} {
		t.Run(name, func(t *testing.T) {
			editor := acptest.New(acptest.Options{Files: map[string]string{"/repo/a": "old\n"}, Programs: makeProgram})
			var steps []modeltest.Step
			for _, c := range all {
				steps = append(steps, modeltest.Say(c))
			}
			a, err := agent.New(agent.Config[bare, string]{
				Model: modeltest.Script(append(steps, modeltest.SayText("done"))...), Toolsets: []toolset.Toolset[bare]{acpbridge.Toolset[bare](options...)},
			})
			require.NoError(t, err)
			conn, _ := served(t, editor, acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}})
			id, err := conn.Start(t.Context(), "/repo")
			require.NoError(t, err)
			_, err = conn.Say(t.Context(), id, "Go.")
			require.NoError(t, err)
			updates := map[acp.ToolCallID][]string{}
			known := map[acp.ToolCallID]map[string]json.RawMessage{}
			for _, n := range editor.Updates(id) {
				var of acp.ToolCallID
				switch u := n.Update; {
				case u.ToolCall != nil:
					of = u.ToolCall.ToolCallID
					require.Nil(t, known[of], "announced twice")
					known[of] = map[string]json.RawMessage{}
				case u.ToolCallUpdate != nil:
					of = u.ToolCallUpdate.ToolCallID
				default:
					continue
				}
				data, err := json.Marshal(n.Update)
				require.NoError(t, err)
				updates[of] = append(updates[of], string(data))
				var fields map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(data, &fields))
				for field, value := range fields {
					if field != "sessionUpdate" && field != "toolCallId" {
						require.NotEqual(t, string(known[of][field]), string(value), "%s of %s was known", field, of)
						known[of][field] = value
					}
				}
			}
			require.NotEmpty(t, updates)
			for call, sent := range updates {
				most := 3
				if strings.HasSuffix(string(call), "/command") && name == "asked" {
					most = 4 // its terminal is there once it runs
				}
				require.LessOrEqual(t, len(sent), most, "%s: %q", call, sent)
				require.Contains(t, []string{`"completed"`, `"failed"`}, string(known[call]["status"]), call)
				if strings.HasSuffix(string(call), "/list") || strings.HasSuffix(string(call), "/search") {
					require.NotEmpty(t, known[call]["content"], "people see what was found")
				}
			}
		})
	}
}
