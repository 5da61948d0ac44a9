// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

var update = flag.Bool("update", false, "write what processors do in testdata")

// runsOf shows long runs of a letter by their length.
func runsOf(text string) string {
	var b strings.Builder
	for text != "" {
		r, _ := utf8.DecodeRuneInString(text)
		rest := strings.TrimLeft(text, string(r))
		if n := (len(text) - len(rest)) / len(string(r)); n >= 6 && r != ' ' {
			fmt.Fprintf(&b, "%c*%d", r, n)
		} else {
			b.WriteString(text[:len(text)-len(rest)])
		}
		text = rest
	}
	return b.String()
}

// longData is data in base64.
var longData = regexp.MustCompile(`[A-Za-z0-9+/=]{900,}`)

// toldOf shows a history: messages of the history before by their numbers, and others whole.
func toldOf(before, after []*model.Message) string {
	if same(before, after) {
		return "as it was"
	}
	var items []string
	for _, m := range after {
		if i := slices.Index(before, m); i >= 0 {
			items = append(items, fmt.Sprint(i))
			continue
		}
		data, err := json.Marshal(m)
		if err != nil {
			data = []byte(err.Error())
		}
		data = longData.ReplaceAllFunc(data, func(d []byte) []byte { return fmt.Appendf(nil, "%s…%d", d[:4], len(d)) })
		items = append(items, "\n      "+runsOf(strings.NewReplacer(`\"`, "'", `"`, "", `\n`, "¶").Replace(string(data))))
	}
	return strings.NewReplacer(" \n", "\n").Replace(strings.Join(items, " "))
}

// sample is a history and its name.
type sample struct {
	name     string
	messages []*model.Message
}

// golden makes histories of all that processors tell apart.
func golden() []sample {
	long := func(i, n int) string { return strings.Repeat(string(rune('a'+i%26)), n) }
	id := func(m *model.Message, run string, tokens ...int64) *model.Message {
		m.RunID, m.ConversationID = run, "c"
		if len(tokens) == 2 {
			m.Usage.InputTokens, m.Usage.OutputTokens = tokens[0], tokens[1]
		}
		return m
	}
	// steps are calls with results of growing length.
	steps := func(run string, n, size int, tokens int64) (all []*model.Message) {
		for i := range n {
			call := fmt.Sprintf("%s%d", run, i)
			resp := id(model.Response(model.Text("step "+call), model.ToolCall(call, "look", `{"at":"`+long(i, 20)+`"}`)), run)
			if tokens > 0 {
				resp.Usage = model.Usage{InputTokens: tokens * int64(i+1), OutputTokens: 9}
			}
			all = append(all, resp, id(request(model.ToolReturn(call, "look", long(i, size+i))), run))
		}
		return all
	}
	ask := func(run, text string, parts ...model.Part) *model.Message {
		return id(request(append([]model.Part{model.User(text)}, parts...)...), run)
	}
	say := func(run, text string, tokens ...int64) *model.Message {
		return id(model.Response(model.Text(text)), run, tokens...)
	}
	join := func(all ...any) (messages []*model.Message) {
		for _, a := range all {
			switch a := a.(type) {
			case *model.Message:
				messages = append(messages, a)
			case []*model.Message:
				messages = append(messages, a...)
			}
		}
		return messages
	}
	kept := model.ToolReturn("k", "plan", long(10, 700))
	kept.Keep, kept.Meta = "plan", json.RawMessage(`{"plan":"hush"}`)
	failed := model.ToolReturn("f", "look", long(11, 900))
	failed.Outcome = model.OutcomeFailed
	mixed := id(request(kept, failed, model.Retry("r", "look", long(12, 800)), model.ToolReturn("ok", "hear", long(13, 1500)), model.User("shown by a tool"), model.Media("image/png", []byte("x"))), "m")
	calls := id(model.Response(model.Thinking("hm"), model.ToolCall("k", "plan", "{}"), model.ToolCall("f", "look", "{}"), model.ToolCall("r", "look", `{"hush":1}`), model.ToolCall("ok", "hear", "{}")), "m")
	summary := id(request(model.User("Summary of the conversation up to here, which is no longer shown:\n\nold things")), "s")
	summary.Metadata = map[string]string{history.MetaSummary: "4"}
	pending := id(request(model.ToolReturn("p1", "look", long(14, 1200))), "p")
	pending.Pending = true
	corrected := say("x", "corrected", 5000, 10)
	corrected.Metadata = map[string]string{history.MetaContext: "900"}
	markedSay := say("c", "marked", 6100, 10)
	markedSay.Metadata = map[string]string{history.MetaContext: "5000"}
	thought := say("y", "thought", 4000, 50)
	thought.Usage.ReasoningTokens = 20
	cleared := id(request(model.ToolReturn("z0", "look", "gone")), "z")
	cleared.Metadata = map[string]string{history.MetaCleared: "77", history.MetaClearedText + "z0": long(15, 77) + " hush", history.MetaShortened: "5"}
	document := model.Media("application/pdf", []byte(long(16, 120_000)))
	document.Name = "hush.pdf"
	return []sample{
		{"turns", join(ask("1", long(0, 900)), say("1", long(1, 900)), ask("2", long(2, 900)), say("2", long(3, 900)), ask("3", long(4, 900)), say("3", long(5, 900)), ask("4", long(6, 900)), say("4", long(7, 900)), ask("5", "now"))},
		{"turns with steps", join(ask("a", "first"), steps("a", 3, 600, 0), say("a", "done"), ask("b", "second"), steps("b", 4, 700, 0), say("b", "done"), ask("c", "third"), steps("c", 3, 800, 0))},
		{"one long turn", join(ask("a", "first"), steps("a", 9, 1000, 0))},
		{"one long turn with reports", join(ask("a", "first"), steps("a", 9, 1000, 400))},
		{"turns with reports", join(ask("a", "first"), steps("a", 2, 1000, 300), say("a", "done", 1100, 5), ask("b", "second"), steps("b", 3, 900, 500), say("b", "done", 2500, 8), ask("c", "third", model.Media("image/png", []byte("x"))))},
		{"a system prompt alone", join(request(model.System("rules")), ask("a", long(0, 2000)), say("a", long(1, 2000)), ask("b", "now"))},
		{"a system prompt with a prompt", join(request(model.System("rules"), model.User(long(0, 3000))), say("a", long(1, 3000)), ask("b", long(2, 3000)), say("b", "yes"), ask("c", "now"))},
		{"a summary", join(request(model.System("rules")), summary, ask("a", long(0, 3000)), say("a", long(1, 3000)), ask("b", long(2, 3000)), say("b", "yes"), ask("c", "now"))},
		{"results of every kind", join(ask("m", "go"), calls, mixed, steps("m", 3, 900, 0), say("m", "done"), ask("n", "and", document), steps("n", 2, 3000, 0))},
		{"messages sent in", join(ask("a", "first"), steps("a", 2, 900, 0), ask("a", "sent in"), steps("a2", 2, 900, 0), ask("a", "sent in again"), ask("b", "new"), say("b", "and"), ask("b", "own"), steps("b", 2, 900, 0))},
		{"calls that wait", join(ask("o", long(0, 4000)), say("o", long(1, 4000)), ask("p", "first"), id(model.Response(model.ToolCall("p1", "look", `"hush"`), model.ToolCall("p2", "look", "{}")), "p"), pending)},
		{"calls without answers", join(ask("o", long(0, 4000)), say("o", "hush"), ask("p", "first"), id(model.Response(model.Text("a")), "p"), id(model.Response(model.ToolCall("p1", "look", `"hush"`)), "p"))},
		{"corrected reports", join(ask("a", long(0, 5000)), corrected, ask("b", "second"), steps("b", 3, 800, 1000), say("b", "done", 5000, 3), ask("c", "third"))},
		{"reports with thinking", join(ask("a", long(0, 5000)), thought, ask("b", "second"), steps("b", 3, 800, 0), thought, ask("c", "third"))},
		{"cleared before", join(ask("z", "first"), id(model.Response(model.ToolCall("z0", "look", "{}")), "z", 500, 5), cleared, steps("z", 4, 900, 600), say("z", "yes"), ask("zz", long(0, 3000)), steps("zz", 1, 900, 3000))},
		{"estimates above what was reported", join(ask("a", long(0, 5000)), say("a", long(1, 5000), 500, 0), ask("b", long(2, 5000)), say("b", long(3, 400)), ask("c", long(4, 3000)), say("c", "yes"), ask("d", "now"))},
		{"a correction is the last report", join(ask("a", long(0, 2000)), say("a", long(1, 2000), 600, 400), ask("b", long(2, 4000)), say("b", long(3, 400), 4600, 90), ask("c", long(4, 3000)), markedSay, ask("d", "now"), say("d", long(5, 2000)), ask("e", "now"))},
		{"a report of the first message of all", join(say("a", long(0, 4000), 900, 900), ask("b", long(1, 4000)), steps("b", 3, 900, 0), say("b", "done"), ask("c", "now"))},
		{"a turn of responses alone", join(steps("a", 4, 900, 300))},
		{"answers only", join(say("a", long(0, 5000)), say("b", long(1, 5000)))},
		{"begins with an answer", join(say("a", long(0, 5000)), ask("b", long(1, 500)), say("b", "yes"), ask("c", "now"))},
		{"unknown kinds of parts", join(ask("a", long(0, 3000), model.Part{Kind: model.PartOpaque, Data: []byte(long(1, 4000))}), id(model.Response(model.Part{Kind: model.PartOpaque, Data: []byte("x"), Signature: []byte(long(2, 1000))}, model.Part{Kind: model.PartCitation, Text: "hush"}), "a"), ask("b", "now"))},
		{"nothing", nil},
	}
}

// TestWhatProcessorsDo has what each processor makes of each history, what it emits, and what it asks a model.
func TestWhatProcessorsDo(t *testing.T) {
	var b strings.Builder
	for _, s := range golden() {
		total := int(history.Gauge(nil)(s.messages))
		fmt.Fprintf(&b, "=== %s: %d messages, %d tokens\n", s.name, len(s.messages), total)
		seen := map[string]string{}
		tell := func(name string, p history.Processor[deps], asked func() string) {
			host := &toolsettest.Host{}
			meter := toolset.NewMeter(toolset.Limits{})
			run := &toolset.RunContext[deps]{Host: host}
			run.Meter = meter
			before := encode(t, s.messages)
			out, err := p(t.Context(), run, s.messages)
			require.Equal(t, before, encode(t, s.messages), "messages are never changed")
			text := toldOf(s.messages, out)
			if err != nil {
				text = "error " + err.Error()
			}
			for _, e := range host.Events() {
				text += fmt.Sprintf("\n      %T%s", e, runsOf(fmt.Sprintf("%+v", e)))
			}
			if asked != nil {
				text += asked()
			}
			if u := meter.Usage(); u.Requests > 0 {
				text += fmt.Sprintf("\n      counted %+v", u)
			}
			if seen[text] != "" {
				text = "as " + seen[text]
			} else if text != "as it was" {
				seen[text] = name
			}
			fmt.Fprintf(&b, "   %s: %s\n", name, text)
		}
		for _, c := range [][2]int{{1, 0}, {2, 0}, {3, 0}, {1, 2}, {2, 1}} {
			tell(fmt.Sprintf("KeepLast %v", c), history.KeepLast[deps](c[0], c[1]), nil)
		}
		for _, c := range []history.Budget{{Max: total - 1}, {Max: total * 3 / 4}, {Max: total / 2}, {Max: total / 2, Target: total / 2}, {Max: total / 3, ReturnBytes: 300}, {Max: total / 8, ReturnBytes: 128}, {Max: 3, ReturnBytes: 128}} {
			tell(fmt.Sprintf("TokenBudget %d/%d/%d", c.Max, c.Target, c.ReturnBytes), history.TokenBudget[deps](c), nil)
		}
		for _, c := range []history.Clear{{Threshold: 1000}, {Threshold: 1000, KeepSteps: 1}, {Threshold: 1500, KeepSteps: 2, Remember: true}, {Threshold: 1000, KeepSteps: 1, MinBytes: 902}, {Threshold: 1200, KeepSteps: 1, Keep: []string{"hear", "plan"}}} {
			tell(fmt.Sprintf("ClearResults %+v", c), history.ClearResults[deps](c), nil)
		}
		for _, c := range []history.Summary{{Threshold: 1000}, {Threshold: 1000, KeepTurns: 1, KeepSteps: 1}, {Threshold: 2000, KeepTurns: 2, KeepSteps: 2}, {Threshold: 1500, KeepTurns: 1}} {
			name := fmt.Sprintf("%d/%d/%d", c.Threshold, c.KeepTurns, c.KeepSteps)
			m := new(scribe)
			c.Model = m.model()
			tell("Summarise "+name, history.Summarise[deps](c), m.asked)
			tell("Compact "+name, func(ctx context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
				out, done, err := history.Compact(ctx, c, messages, "the names", run.Meter)
				if done != nil {
					run.Emit(*done)
				}
				return out, err
			}, m.asked)
		}
		word := history.Rule{Name: "word", Pattern: regexp.MustCompile(`hush|third`)}
		tell("Redact", history.Redact[deps](word), nil)
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/processors.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/processors.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}

// scribe is a model that writes summaries and notes what it is asked.
type scribe struct{ requests []string }

func (s *scribe) model() model.Model {
	return model.Func(model.Info{Provider: "acme", Name: "scribe"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		text := strings.ReplaceAll(req.Messages[0].Parts[0].Text, "\n", "¶")
		if _, focus, ok := strings.Cut(req.Instructions, "\n\nThe user asks"); ok {
			text += " focus" + focus
		}
		s.requests = append(s.requests, runsOf(text))
		resp := model.Response(model.Text(fmt.Sprintf("summary %d", len(s.requests))))
		resp.Usage = model.Usage{InputTokens: 100, OutputTokens: 10}
		return resp, nil
	})
}

// asked tells the requests since the last call.
func (s *scribe) asked() string {
	var b strings.Builder
	for _, r := range s.requests {
		b.WriteString("\n      asked: " + r)
	}
	s.requests = nil
	return b.String()
}
