// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// A call that is shown while the model writes it, and is not in its response, has failed. The others go on as they were.
func TestCallThatWasWrittenAndIsNotMadeHasFailed(t *testing.T) {
	long := `{"city":"` + strings.Repeat("x", 10_000) + `"}`
	step := 0
	m := model.Func(model.Info{Provider: "test", Name: "m"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if step++; step > 1 {
			return model.Response(model.Text("done")), nil
		}
		for i, id := range []string{"kept", "gone"} {
			for _, d := range []model.Delta{{CallID: id, Tool: "forecast"}, {Text: long}} {
				d.Part, d.Kind = i, model.PartToolCall
				if err := sink(d); err != nil {
					return nil, err
				}
			}
		}
		return model.Response(model.ToolCall("kept", "forecast", long)), nil
	})
	a := agent.Must(agent.New(agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{
		toolset.Func("forecast", "Forecast.", func(context.Context, *toolset.RunContext[none], place) (string, error) { return "rain", nil }),
	}}))
	s := openShown(t, new(session.Memory), false)
	states := map[string][]view.Status{}
	var said string
	require.NoError(t, promptShown(s, a, "Go.", func(*agent.Event) bool {
		for e := range s.fold.Snapshot().All() {
			if e.Kind != view.ToolCall {
				continue
			}
			id := e.ID[strings.LastIndexByte(e.ID, '/')+1:]
			if all := states[id]; len(all) == 0 || all[len(all)-1] != e.Status {
				states[id] = append(all, e.Status)
			}
			if id == "gone" {
				said = textOf(s.fold)
			}
		}
		return true
	}))
	require.Equal(t, []view.Status{view.Pending, view.Running, view.Completed}, states["kept"])
	require.Equal(t, []view.Status{view.Pending, view.Failed}, states["gone"])
	require.Contains(t, said, "Not called after all.")
	requireSame(t, s)
}
