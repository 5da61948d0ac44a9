// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A list with spare commas is a document once it is repaired, so it is not checked in parts; a list that no repair makes one is.
func TestListsWithSpareCommasAreNotCheckedInParts(t *testing.T) {
	long := `"` + strings.Repeat("a word ", 40) + `"`
	for begin, partial := range map[string]bool{
		`[[1, ],`: false, "[[1,\t],": false, "[[1,\r],": false, "[[1,\n],": false, `[[true,false],`: false, `[{"a":true,"b":null},`: false, `[" ,] ",`: false, `[",\",]",`: false,
		`["\\",[2,],`: false, `[["\\" , ] ,`: false, `[{"a" : [ ] , } ,`: false,
		`[[1,,],`: true, `[[true false],`: true, `[1}`: true, `[x,`: true,
	} {
		parts := false
		g := guard{Name: "g", On: output, Stream: 5, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			parts = parts || s.Partial
			return guardrails.Pass(), nil
		}}
		_, err := newAgent(t, speaker(says(begin+long+"]")), g).Stream(t.Context(), none{}, "go").Result()
		require.NoError(t, err)
		require.Equal(t, partial, parts, "%q", begin)
	}
}

// Events of a tool are held back only if a guard checks its result: otherwise they are shown while it runs.
func TestEventsOfUncheckedResultsAreShownAtOnce(t *testing.T) {
	for on, guarded := range map[guardrails.Stage]bool{call: false, result: true, output: false} {
		synctest.Test(t, func(t *testing.T) {
			slowly := toolset.Func("slowly", "", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
				run.Emit("begun")
				time.Sleep(time.Minute)
				return "done", nil
			})
			cfg := config(modeltest.Script(modeltest.Say(model.ToolCall("c1", "slowly", `{}`)), modeltest.SayText("Done.")), guard{Name: "g", On: on, Check: always(guardrails.Pass())})
			cfg.Tools = []*toolset.Tool[none]{slowly}
			began := time.Now()
			shown := 0
			for e := range agent.Must(agent.New(cfg)).Stream(t.Context(), none{}, "go").Events() {
				if e.Kind == agent.EventCustom {
					shown++
					require.Equal(t, guarded, time.Since(began) == time.Minute, "%v", on)
				}
			}
			require.Equal(t, 1, shown)
		})
	}
}

// A part that a model completes, such as a citation, may quote its text: it is held back with it.
func TestCompletedPartsAreHeldBackWithTheText(t *testing.T) {
	citation := model.Part{Kind: model.PartCitation, Text: "a quote"}
	resp := model.Response(model.Text("Well."), citation)
	m := answering(resp, model.Delta{Kind: model.PartText, Text: "Well."}, model.Delta{Part: 1, Whole: &citation}, model.Delta{})
	for on, held := range map[guardrails.Stage]bool{call: false, output: true, input: false, result: false} {
		for _, v := range []verdict{guardrails.Pass(), guardrails.Block("no")} {
			shown := 0
			s := newAgent(t, m, guard{Name: "g", On: on, Check: always(v)}).Stream(t.Context(), none{}, "go")
			for e := range s.Events() {
				if e.PartKind == model.PartCitation {
					shown++
				}
			}
			_, err := s.Result()
			blocks := v.Action == guardrails.ActionBlock && (on == input || on == output)
			require.Equal(t, blocks, err != nil, "%v %v", on, err)
			if held || blocks {
				require.Zero(t, shown, "%v", on)
			}
		}
	}
}

// Each part that is shown has an index of its own, also when guards hold back some, and no piece is empty.
func TestShownPartsHaveIndexesOfTheirOwn(t *testing.T) {
	long := strings.Repeat("Well. ", 40)
	parts := []model.Part{model.Text(long), model.ToolCall("c1", "echo", `{"text":"a"}`), model.ToolCall("c2", "echo", `{"text":"b"}`), model.Thinking("Hm.")}
	calls := []model.Part{parts[1], parts[2], parts[3], parts[0]}
	for name, g := range map[string]guard{"all": {On: output | call}, "calls first": {On: output | call}, "growing": {On: output, Stream: 4}, "growing thoughts": {On: output | call, Stream: 300}, "calls": {On: call}} {
		g.Name, g.Check = "g", always(guardrails.Pass())
		said := parts
		if name == "calls first" {
			said = calls
		}
		kinds := map[int]string{}
		var order []string
		s := newAgent(t, speaker(said, says("Done.")), g).Stream(t.Context(), none{}, "go")
		for e := range s.Events() {
			if e.Step != 1 {
				continue
			}
			switch e.Kind {
			case agent.EventPartStart:
				require.NotContains(t, kinds, e.Part, name)
				kinds[e.Part] = string(e.PartKind)
				order = append(order, kinds[e.Part]+e.CallID)
			case agent.EventPartDelta:
				require.Equal(t, kinds[e.Part], string(e.PartKind), name)
				require.NotEmpty(t, e.Text, name)
			}
		}
		_, err := s.Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"text", "tool_callc1", "tool_callc2", "thinking"}, order, name)
	}
}

// A fence may come after any space, and may still be written.
func TestFencesAreRecognisedWhileTheyAreWritten(t *testing.T) {
	long := strings.Repeat("a word ", 40)
	for spaces := range 70 {
		for lang, partial := range map[string]bool{"json": false, "": false, "go": true} {
			parts := false
			body := `["` + long + `"]`
			if partial {
				body = "func " + long
			}
			_, err := newAgent(t, speaker(says(strings.Repeat(" ", spaces)+"```"+lang+"\n"+body+"\n```")), guard{Name: "g", On: output, Stream: 5, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
				parts = parts || s.Partial
				return guardrails.Pass(), nil
			}}).Stream(t.Context(), none{}, "go").Result()
			require.NoError(t, err)
			require.Equal(t, partial, parts, "%d %q", spaces, lang)
		}
	}
}

// Whatever waits for the check of the input is shown when that has passed, and calls that are held back follow.
func TestQueuedTextAndCallsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts := []model.Part{model.Text("Well."), model.ToolCall("c1", "echo", `{"text":"a"}`)}
		deltas := []model.Delta{{Kind: model.PartText, Text: "Well."}, {Part: 1, Kind: model.PartToolCall, CallID: "c1", Tool: "echo", Text: `{"text":"a"}`}}
		got, err := watchedParts(t, answering(model.Response(parts...), deltas...), guard{Name: "g", On: input | call, Parallel: true, Check: func(ctx context.Context, run *toolset.RunContext[none], s *subject) (verdict, error) {
			if s.Stage == input {
				return slow(guardrails.Pass())(ctx, run, s)
			}
			return guardrails.Pass(), nil
		}})
		require.ErrorAs(t, err, new(*agent.LimitError))
		require.Equal(t, map[model.PartKind]string{model.PartText: "Well.", model.PartToolCall: `{"text":"a"}`}, got)
	})
}

func TestTimeoutsOfChecksAreTold(t *testing.T) {
	for _, timeout := range []time.Duration{1, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := newAgent(t, modeltest.Script(), guard{Name: "g", On: input, Timeout: timeout, Check: func(ctx context.Context, _ *toolset.RunContext[none], _ *subject) (verdict, error) {
				<-ctx.Done()
				return verdict{}, ctx.Err()
			}}).Run(t.Context(), none{}, "go")
			require.ErrorContains(t, err, fmt.Sprintf(`guardrails: input blocked by "g": it could not be checked: the check took longer than %v`, timeout))
			require.Equal(t, timeout, time.Since(began))
		})
	}
}
