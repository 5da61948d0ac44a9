// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestManyCallsAtOnce: the server takes 2,000 activities of a workflow at a time, and 4 MiB for what a task of a workflow starts.
func TestManyCallsAtOnce(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	type arguments struct {
		Text string `json:"text"`
	}
	for name, k := range map[string]struct {
		calls, arguments, result int
		local                    bool
	}{
		"many calls":                           {calls: 520},
		"a large response with calls":          {calls: 90, arguments: 540},
		"large results of local calls":         {calls: 100, result: 60_000, local: true},
		"more local calls than one task takes": {calls: 260, local: true},
	} {
		t.Run(name, func(t *testing.T) {
			var parts []model.Part
			for i := range k.calls {
				parts = append(parts, model.ToolCall(fmt.Sprint("c", i), "work", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", k.arguments))))
			}
			cfg := config(agent.Must(agent.New(agent.Config[deps, report]{
				Model: modeltest.Script(modeltest.Say(parts...), modeltest.Say(final("done"))),
				Tools: []*toolset.Tool[deps]{toolset.Func("work", "Work.", func(context.Context, *toolset.RunContext[deps], arguments) (string, error) {
					return strings.Repeat("y", k.result), nil
				})},
			})), blobs)
			cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Local: k.local} }
			run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
			require.NoError(t, err)
			res, err := run.Result(t.Context())
			require.NoError(t, err)
			require.Len(t, res.Messages[2].Parts, k.calls)
			for _, p := range res.Messages[2].Parts {
				require.Len(t, p.Text, k.result)
			}
			going, most, began := 0, 0, 0
			for _, e := range history(t, c, run.ID()) {
				switch {
				case e.GetActivityTaskScheduledEventAttributes() != nil:
					began++
					going++
				case e.GetActivityTaskCompletedEventAttributes() != nil:
					going--
				}
				most = max(most, going)
			}
			require.LessOrEqual(t, most, 500)
			if k.local {
				require.Less(t, began, 20, "few of them are no local activities")
			}
		})
	}
}
