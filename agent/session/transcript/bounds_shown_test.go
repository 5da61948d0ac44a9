// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// A call whose arguments are not complete is shown when the model has written one kibibyte of them.
func TestCallsAreShownFromAKibibyteOfArguments(t *testing.T) {
	for _, pieces := range [][]int{{1023, 1}, {1, 1022, 1}, {1023, 5000}} {
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		tell := func(kind agent.EventKind, text string) {
			p.Event(&agent.Event{
				Kind: kind, Step: 1, Part: 2, PartKind: model.PartToolCall, CallID: "c", Tool: "write", Text: text,
			})
		}
		p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
		tell(agent.EventPartStart, "")
		last := len(pieces) - 1
		for _, n := range pieces[:last] {
			tell(agent.EventPartDelta, strings.Repeat("x", n))
			require.Empty(t, show(p), "%d bytes of %v", n, pieces)
		}
		tell(agent.EventPartDelta, strings.Repeat("x", pieces[last]))
		require.Equal(t, `{"id":"call:r/1/c","kind":"tool_call","title":"write","name":"write","class":"other","status":"pending"}`,
			strings.TrimSpace(show(p)), "%v", pieces)
	}
}

// Of what a provider did itself, 50 calls and 50 sources are shown, with 300 bytes of what was asked
// and of titles.
func TestNativeWorkIsShownUpToItsBounds(t *testing.T) {
	for _, c := range []struct{ all, text, calls, sources, bytes int }{
		{all: 1, text: 299, calls: 1, sources: 1, bytes: 299}, {all: 49, text: 300, calls: 49, sources: 49, bytes: 300},
		{all: 50, text: 301, calls: 50, sources: 50, bytes: 300}, {all: 51, text: 302, calls: 50, sources: 50, bytes: 300},
	} {
		m := model.Response(model.Text("x"))
		for n := range c.all {
			m.Parts = append(m.Parts, cite(fmt.Sprintf("https://a.test/%d", n), strings.Repeat("t", c.text), 0, 1), model.Part{
				Kind: model.PartOpaque, Provider: "p",
				Data: fmt.Appendf(nil, `{"type":"web_search_call","action":{"query":%q}}`, strings.Repeat("q", c.text)),
			})
		}
		p := transcript.New("s", transcript.Options{})
		p.Start("r")
		p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
		p.Event(&agent.Event{Kind: agent.EventResponse, Step: 1, Message: m})
		calls, links := 0, 0
		for e := range p.Fold().Snapshot().All() {
			if e.Kind == view.ToolCall {
				require.Equal(t, fmt.Sprint("call:r/1/native/", calls), e.ID)
				require.Equal(t, "Search the web: "+strings.Repeat("q", c.bytes), e.Title)
				calls++
				continue
			}
			for _, one := range e.Content {
				require.Equal(t, view.Content{
					Kind: view.Link, URI: fmt.Sprint("https://a.test/", links), Name: strings.Repeat("t", c.bytes),
					Cites: []view.Span{{Start: 0, End: 1}},
				}, one)
				links++
			}
		}
		require.Equal(t, []int{c.calls, c.sources}, []int{calls, links}, "%+v", c)
	}
}

// What is asked is cut between characters.
func TestNativeWorkIsCutBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		for _, char := range []string{"é", "日", "😀"} {
			asked := "xxx"[:shift] + strings.Repeat(char, 200)
			m := model.Response(model.Part{
				Kind: model.PartOpaque, Provider: "p",
				Data: fmt.Appendf(nil, `{"type":"web_search_call","action":{"query":%q}}`, asked),
			})
			p := transcript.New("s", transcript.Options{})
			p.Start("r")
			p.Event(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
			p.Event(&agent.Event{Kind: agent.EventResponse, Step: 1, Message: m})
			for e := range p.Fold().Snapshot().All() {
				shown := strings.TrimPrefix(e.Title, "Search the web: ")
				require.True(t, strings.HasPrefix(asked, shown), shown)
				require.Greater(t, len(shown), 300-len(char))
			}
		}
	}
}

// Text that was streamed belongs to the step that its key begins with. Keys without one, or with one
// that no run reaches, show nothing.
func TestStreamedTextBelongsToTheStepOfItsKey(t *testing.T) {
	for key, step := range map[string]int{
		"1/response": 1, "9/response": 9, "10/response": 10, "19/response": 19, "90/response": 90, "102/response": 102, "007/response": 7,
		"12345/response": 12345, "10737418249/response": 10737418249, "10737418250/response": 0, "99999999999999999999/response": 0,
		"0/response": 0, "/response": 0, "x/response": 0, "1x/response": 0, "1:/response": 0, "-1/response": 0, "1.5/response": 0,
	} {
		w := written{}.prompted("t").add(session.KindView, "t", key, `{"part":0,"kind":"text","text":"So"}`)
		store := &recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}
		read, err := transcript.Read(t.Context(), store.cut(t, 1), "s", transcript.Options{})
		require.NoError(t, err)
		var said []string
		for e := range read.Fold().Snapshot().All() {
			if e.Text() == "So" {
				said = append(said, e.ID)
			}
		}
		var want []string
		if step > 0 {
			want = []string{transcript.MessageID("t", step)}
		}
		require.Equal(t, want, said, key)
	}
}

// A response whose key has no step is the one after the last.
func TestResponseWithoutAStepIsTheNextOne(t *testing.T) {
	answer := func(text string) string {
		return `"kind":"response","parts":[{"kind":"text","text":"` + text + `"}],"run_id":"t"`
	}
	for _, key := range []string{"7", "end/2", "x/response", "0/response"} {
		w := written{}.prompted("t").message("t", "4/response", answer("one")).message("t", key, answer("two"))
		store := &recorder{Memory: new(session.Memory), batches: [][]session.Entry{w}}
		read, err := transcript.Read(t.Context(), store.cut(t, 1), "s", transcript.Options{})
		require.NoError(t, err)
		for step, text := range map[int]string{4: "one", 5: "two"} {
			e := read.Fold().Get(transcript.MessageID("t", step))
			require.NotNil(t, e, "%s: step %d", key, step)
			require.Equal(t, text, e.Text(), key)
		}
		require.Nil(t, read.Fold().Get(transcript.MessageID("t", 6)), key)
	}
}

// selective knows the price of one model.
type selective struct{}

func (selective) Price(_, name string, _ time.Time) (model.Price, bool) {
	return model.Price{Request: 0.25}, name == "m"
}

// A token is shown, and cost only where the price is known.
func TestSmallestUsageIsShown(t *testing.T) {
	for _, c := range []struct {
		o     transcript.Options
		model string
		want  string
	}{
		{transcript.Options{Window: 1}, "m", `{"id":"usage","kind":"usage","usage":{"used":1,"size":1}}`},
		{transcript.Options{Window: 2, Prices: selective{}, Currency: "EUR"}, "m", `{"id":"usage","kind":"usage","usage":{"used":1,"size":2,"cost":0.25,"currency":"EUR"}}`},
		{transcript.Options{Window: 2, Prices: selective{}, Currency: "EUR"}, "other", `{"id":"usage","kind":"usage","usage":{"used":1,"size":2}}`},
	} {
		m := model.Response(model.ToolCall("c", "go", "{}"))
		m.Model, m.Usage = c.model, model.Usage{OutputTokens: 1}
		p := transcript.New("s", c.o)
		p.Start("r")
		p.Event(&agent.Event{Kind: agent.EventResponse, Step: 1, Message: m})
		require.Equal(t, c.want, strings.TrimSpace(show(p)))
	}
}
