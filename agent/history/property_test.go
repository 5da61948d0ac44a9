// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// author writes random histories.
type author struct {
	*rand.Rand
	messages []*model.Message
	run      int
	calls    int
}

func (a *author) chance(percent int) bool { return a.IntN(100) < percent }

func (a *author) text() string {
	text := strings.Repeat("word hush €", 1+a.IntN(4))
	if a.chance(10) {
		text = strings.Repeat(text, 60)
	}
	return text
}

func (a *author) add(m *model.Message) {
	m.RunID, m.ConversationID = fmt.Sprint("run", a.run), "c"
	m.Metadata = map[string]string{"n": strconv.Itoa(len(a.messages))}
	a.messages = append(a.messages, m)
}

func (a *author) respond(parts ...model.Part) {
	if a.chance(30) {
		thought := model.Thinking(a.text())
		thought.Signature = []byte("sig")
		parts = append([]model.Part{thought}, parts...)
	}
	m := model.Response(parts...)
	if a.chance(50) {
		m.Usage = model.Usage{InputTokens: int64(a.IntN(3000)), OutputTokens: int64(a.IntN(300)), ReasoningTokens: int64(a.IntN(2) * 10)}
	}
	a.add(m)
}

func (a *author) answer(id string) model.Part {
	switch {
	case a.chance(15):
		return model.Retry(id, "t", a.text())
	case a.chance(30):
		return model.ToolReturn(id, "t", fmt.Sprintf(`{"x":%q,"n":%d}`, a.text(), a.IntN(5000)))
	}
	return model.ToolReturn(id, "t", a.text())
}

func (a *author) step() {
	var calls, answers []model.Part
	for range 1 + a.IntN(3) {
		a.calls++
		id := fmt.Sprint("call", a.calls%7) // ids come again
		if a.chance(50) {
			id = fmt.Sprint("call", a.calls)
		}
		if strings.Contains(dump([]*model.Message{model.Response(calls...)}), "call:"+id) {
			continue
		}
		calls = append(calls, model.ToolCall(id, "t", fmt.Sprintf(`{"q":%q}`, a.text())))
		answers = append(answers, a.answer(id))
	}
	if len(calls) == 0 {
		return
	}
	a.respond(calls...)
	split := len(answers)
	if a.chance(15) {
		split = a.IntN(len(answers))
	}
	if split < len(answers) && split > 0 {
		a.add(request(answers[:split]...))
		answers = answers[split:]
	}
	if a.chance(15) {
		answers = append(answers, model.Media("image/png", []byte("x")))
	}
	a.add(request(answers...))
	if a.chance(10) {
		a.add(request(model.User("sent in: " + a.text())))
	}
}

// history writes a history in which every call is answered once, and which ends in a request.
func (a *author) history() []*model.Message {
	if a.chance(30) {
		a.add(request(model.System("rules")))
	}
	for range a.IntN(6) {
		a.run++
		parts := []model.Part{model.User("ask " + a.text())}
		if a.chance(10) {
			parts = append([]model.Part{model.System("part of a prompt")}, parts...)
		}
		if a.chance(95) {
			a.add(request(parts...))
		}
		for range a.IntN(5) {
			a.step()
		}
		if a.chance(80) {
			a.respond(model.Text(a.text()))
		}
		if a.chance(10) {
			a.add(request(model.Retry("", "", "say more")))
		}
	}
	a.run++
	a.add(request(model.User("now " + a.text())))
	for range max(0, a.IntN(12)-5) {
		a.step()
	}
	return a.messages
}

// wellFormed says what is wrong with a history.
func wellFormed(messages []*model.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Kind == model.KindResponse && (i == 0 || messages[i-1].Kind == model.KindRequest) && len(open) > 0 {
			return fmt.Errorf("message %d follows calls without an answer", i)
		}
		for j := range m.Parts {
			switch p := &m.Parts[j]; {
			case p.Kind == model.PartToolCall:
				open[p.CallID] = true
			case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
				if !open[p.CallID] {
					return fmt.Errorf("message %d answers nothing with %q", i, p.CallID)
				}
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without an answer at the end")
	}
	return nil
}

// processors are some of all kinds, with random settings.
func processors(a *author) map[string]history.Processor[deps] {
	words := 1 + a.IntN(3000)
	writer := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text(strings.Repeat("sum ", words))), nil
	})
	limit := 1 + a.IntN(4000)
	return map[string]history.Processor[deps]{
		"KeepLast":    history.KeepLast[deps](1+a.IntN(3), a.IntN(3)),
		"TokenBudget": history.TokenBudget[deps](history.Budget{Max: limit, Target: 1 + a.IntN(limit), ReturnBytes: 128 + a.IntN(500)}),
		"Clear":       history.ClearResults[deps](history.Clear{Threshold: 1000 + a.IntN(500), KeepSteps: 1, MinBytes: 128}),
		"Summarise":   history.Summarise[deps](history.Summary{Model: writer, Threshold: 1000 + a.IntN(2000), KeepTurns: 1 + a.IntN(3), KeepSteps: 1 + a.IntN(3)}),
		"Redact":      history.Redact[deps](word),
	}
}

func TestProcessedHistoriesAreWellFormed(t *testing.T) {
	changed := map[string]int{}
	for seed := range uint64(80) {
		a := &author{Rand: rand.New(rand.NewPCG(seed, 1))}
		in := a.history()
		require.NoError(t, wellFormed(in), "the author")
		all := processors(a)
		for name, p := range all {
			out := process(t, p, in)
			checkProcessed(t, fmt.Sprintf("seed %d, %s", seed, name), in, out, name == "Redact")
			if !same(in, out) {
				changed[name]++
			}
		}
		// One after the other, twice, with what a run adds in between.
		chained := in
		for round := range 2 {
			for _, name := range []string{"Redact", "Summarise", "KeepLast", "TokenBudget"} {
				chained = process(t, all[name], chained)
				require.NoError(t, wellFormed(chained), "seed %d, round %d, %s", seed, round, name)
			}
			a.messages = chained
			a.step()
			a.respond(model.Text("x"))
			a.add(request(model.User("next")))
			chained = a.messages
		}
	}
	for name := range processors(&author{Rand: rand.New(rand.NewPCG(1, 1))}) {
		require.Greater(t, changed[name], 5, "%s has to have something to do", name)
	}
}

// lazy is a message that is only made if it is needed.
type lazy func() string

func (l lazy) String() string { return l() }

// checkProcessed checks what holds of the result of every processor.
func checkProcessed(t *testing.T, what string, in, out []*model.Message, redacted bool) {
	t.Helper()
	show := lazy(func() string { return fmt.Sprintf("%s\n%s\n=>\n%s", what, dump(in), dump(out)) })
	require.NoError(t, wellFormed(out), "%s", show)
	require.Equal(t, model.KindRequest, out[len(out)-1].Kind, "%s", show)
	last := -1
	prompts := 0
	for _, m := range out {
		if m.Metadata[history.MetaSummary] != "" {
			continue
		}
		n, err := strconv.Atoi(m.Metadata["n"])
		require.NoError(t, err, "metadata of the user's own stays")
		require.Greater(t, n, last, "what stays keeps its order: %s", show)
		require.Equal(t, in[n].RunID, m.RunID)
		require.Equal(t, in[n].ConversationID, m.ConversationID)
		require.Equal(t, in[n].Usage, m.Usage)
		if m != in[n] {
			require.True(t, len(m.Metadata) > len(in[n].Metadata), "a message that was made says so: %s", show)
		}
		if m.Kind == model.KindResponse && !redacted {
			require.Equal(t, in[n].Parts, m.Parts, "responses that stay are as they were")
		}
		for i := range m.Parts {
			if m.Parts[i].Kind == model.PartUser && strings.HasPrefix(m.Parts[i].Text, "now ") {
				prompts++
			}
			if redacted {
				require.NotContains(t, m.Parts[i].Text+string(m.Parts[i].Args), "hush")
				if text := m.Parts[i].Text; strings.HasPrefix(text, "{") {
					require.True(t, json.Valid([]byte(text)), text)
				}
			}
		}
		last = n
	}
	require.Equal(t, 1, prompts, "the current prompt stays: %s", show)
}

// TestProcessorsTakeAnyHistory feeds histories that are not well-formed: they come out no worse.
func TestProcessorsTakeAnyHistory(t *testing.T) {
	for seed := range uint64(80) {
		a := &author{Rand: rand.New(rand.NewPCG(seed, 2))}
		for range a.IntN(10) {
			switch a.IntN(7) {
			case 0:
				a.add(request())
			case 1:
				a.add(request(a.answer(fmt.Sprint(a.IntN(3)))))
			case 2:
				a.add(request(model.User(a.text()), a.answer(fmt.Sprint(a.IntN(3)))))
			case 3:
				a.respond(model.ToolCall(fmt.Sprint(a.IntN(3)), "t", a.text()))
			case 4:
				a.add(request(model.System("rules")))
			case 5:
				a.respond()
			case 6:
				a.run++
				a.add(request(model.User(a.text())))
			}
		}
		for _, p := range processors(a) {
			out := process(t, p, a.messages)
			if len(a.messages) > 0 {
				require.Equal(t, lastOf(a.messages).Kind, lastOf(out).Kind)
			}
		}
	}
}

func lastOf(messages []*model.Message) *model.Message { return messages[len(messages)-1] }
