// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// told makes a message with tool returns, each as "tool.keep=meta"; "-" is a message without any.
func told(texts string) *model.Message {
	m := &model.Message{Kind: model.KindRequest}
	for text := range strings.FieldsSeq(texts) {
		tool, rest, _ := strings.Cut(text, ".")
		keep, meta, ok := strings.Cut(rest, "=")
		if !ok {
			m.Parts = append(m.Parts, model.User(text))
			continue
		}
		p := model.ToolReturn("1", tool, "said "+text)
		p.Keep, p.Meta = keep, json.RawMessage(meta)
		m.Parts = append(m.Parts, p)
	}
	return m
}

// shownKept returns a history in the form of told, with what is kept behind a bar.
func shownKept(history []*model.Message) string {
	of := func(parts []model.Part) (all []string) {
		for _, p := range parts {
			if p.Keep != "" {
				all = append(all, fmt.Sprintf("%s.%s=%s", p.Tool, p.Keep, p.Meta))
			} else {
				all = append(all, p.Text)
			}
		}
		return all
	}
	var messages []string
	for _, m := range history {
		text := strings.Join(of(m.Parts), " ")
		if m.Kept != nil {
			text += "|" + strings.Join(of(m.Kept), " ")
		}
		messages = append(messages, text)
	}
	return strings.Join(messages, "; ")
}

func TestWhatToolsKeepMovesToItsPlace(t *testing.T) {
	a, b, c, d, sum := told("t.k=1"), told("hello"), told("t.k=2 u.k=3"), told("bye"), told("summary")
	a2, c2 := told("t.k=1"), told("t.k=2")
	for _, x := range []struct {
		name          string
		before, after []*model.Message
		want, all, t  string
	}{
		{"nothing is missing", []*model.Message{a, b}, []*model.Message{a, b}, "t.k=1; hello", "t.k=1", "t.k=1"},
		{"nothing is left", []*model.Message{a, b}, nil, "", "", ""},
		{"nothing was kept", []*model.Message{b, d}, []*model.Message{d}, "bye", "", ""},
		{"the beginning is gone", []*model.Message{a, b, d}, []*model.Message{b, d}, "hello|t.k=1; bye", "t.k=1", "t.k=1"},
		{"a summary is new", []*model.Message{a, b, d}, []*model.Message{sum, d}, "summary|t.k=1; bye", "t.k=1", "t.k=1"},
		{"the middle is gone", []*model.Message{b, a, d}, []*model.Message{b, d}, "hello; bye|t.k=1", "t.k=1", "t.k=1"},
		{"the end is gone", []*model.Message{b, a}, []*model.Message{b}, "hello|t.k=1", "t.k=1", "t.k=1"},
		{"a later one replaced it", []*model.Message{a, b, c, d}, []*model.Message{b, d}, "hello; bye|t.k=2 u.k=3", "t.k=2, u.k=3", "t.k=2"},
		{"an earlier one is left", []*model.Message{a, b, c, d}, []*model.Message{a, b, d}, "t.k=1; hello; bye|t.k=2 u.k=3", "t.k=2, u.k=3", "t.k=2"},
		{"a copy has it", []*model.Message{a, b, d}, []*model.Message{a2, d}, "t.k=1; bye", "t.k=1", "t.k=1"},
		{"a copy has a part of it", []*model.Message{c, d}, []*model.Message{c2, d}, "t.k=2|u.k=3; bye", "t.k=2, u.k=3", "t.k=2"},
		{"all is new", []*model.Message{a, b}, []*model.Message{sum}, "summary|t.k=1", "t.k=1", "t.k=1"},
	} {
		before := shownKept(x.before)
		got := model.CarryKept(x.before, x.after)
		require.Equal(t, x.want, shownKept(got), x.name)
		require.Equal(t, before, shownKept(x.before), "%s: messages are not changed", x.name)
		describe := func(parts []*model.Part) string {
			var all []string
			for _, p := range parts {
				all = append(all, fmt.Sprintf("%s.%s=%s", p.Tool, p.Keep, p.Meta))
			}
			return strings.Join(all, ", ")
		}
		require.Equal(t, x.all, describe(model.Kept(got, "")), x.name)
		require.Equal(t, x.t, describe(model.Kept(got, "t")), x.name)
		require.Empty(t, model.Kept(got, "none"))
		for _, m := range got {
			for _, p := range m.Kept {
				require.Empty(t, p.Text, "what is kept is not said again")
			}
		}
		require.Equal(t, x.want, shownKept(model.CarryKept(got, got)), "%s: once is enough", x.name)
	}
	call := told("t.k=1")
	call.Parts[0].Kind = model.PartToolCall
	require.Empty(t, model.Kept([]*model.Message{call}, ""), "only returns are kept")
}

func TestStatesOfAgentsThatStayAreCarried(t *testing.T) {
	stays := func(state string, earlier ...string) *model.Message {
		m := told("-")
		m.HandOver = &model.HandOver{Stays: true, State: json.RawMessage(state)}
		for _, e := range earlier {
			m.HandOver.Earlier = append(m.HandOver.Earlier, json.RawMessage(e))
		}
		return m
	}
	ended := told("-")
	ended.HandOver = &model.HandOver{Ended: true}
	plain := told("-")
	plain.HandOver = &model.HandOver{Agent: "x"}
	one, two, three := stays("1"), stays("2", "1.5"), stays("3", "2.5")
	for name, x := range map[string]struct {
		before, after []*model.Message
		want          string
	}{
		"all are there":        {[]*model.Message{one, two}, []*model.Message{one, two}, "1 [], 2 [1.5]"},
		"the first is gone":    {[]*model.Message{one, two}, []*model.Message{two}, "2 [1 1.5]"},
		"two are gone":         {[]*model.Message{one, plain, two, three}, []*model.Message{plain, three}, "3 [1 1.5 2 2.5]"},
		"the agent has gone":   {[]*model.Message{one, ended, two, three}, []*model.Message{three}, "3 [1.5 2 2.5]"},
		"it ended at last":     {[]*model.Message{one, two, ended}, []*model.Message{ended}, ""},
		"the last is gone":     {[]*model.Message{one, two}, []*model.Message{one}, "1 []"},
		"one between is there": {[]*model.Message{one, two, three}, []*model.Message{two, three}, "2 [1 1.5], 3 [2.5]"},
	} {
		var got []string
		for _, m := range model.Carry(x.before, x.after) {
			if m.HandOver != nil && m.HandOver.Stays {
				got = append(got, fmt.Sprintf("%s %s", m.HandOver.State, m.HandOver.Earlier))
			}
		}
		require.Equal(t, x.want, strings.Join(got, ", "), name)
		require.Empty(t, one.HandOver.Earlier)
		require.Len(t, two.HandOver.Earlier, 1, "messages are not changed")
	}
}

// gate counts.
type gate struct{ asked, unsent int }

func (g *gate) Ask(ctx context.Context, m model.Model, req *model.Request, sink model.Sink) (*model.Message, error) {
	g.asked++
	return m.Generate(ctx, req, sink)
}

func (g *gate) Unsent() { g.unsent++ }

func TestGatesCountRequests(t *testing.T) {
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, errors.New("no")
	})
	g := &gate{}
	with := context.WithValue(t.Context(), model.GateKey{}, model.Gate(g))
	for _, ctx := range []context.Context{t.Context(), with} {
		_, err := model.Ask(ctx, m, &model.Request{}, nil)
		require.EqualError(t, err, "no")
		model.Unsent(ctx)
	}
	require.Equal(t, gate{1, 1}, *g)

	require.True(t, model.RetriesAllowed(t.Context()))
	once := model.WithoutRetries(t.Context())
	require.False(t, model.RetriesAllowed(once))
	require.Equal(t, once, model.WithoutRetries(once))
}

func TestKeysOfPendingCallsAreApart(t *testing.T) {
	for want, c := range map[string]model.PendingCall{
		"a":         {ID: "a"},
		"a~b":       {ID: "a~b", Path: []string{"a~b"}},
		"/~1a":      {ID: "/a"},
		"/a/b":      {ID: "b", Path: []string{"a", "b"}},
		"/a~1b/c~0": {ID: "c~", Path: []string{"a/b", "c~"}},
		"/~1x~0":    {ID: "/x~", Path: []string{"/x~"}},
	} {
		require.Equal(t, want, c.Key())
	}
	require.Equal(t, "a~1b~0~01", model.EscapeID("a/b~~1"))
}

func TestReasonsAreErrorsOrNot(t *testing.T) {
	for reason, want := range map[model.FinishReason]error{
		model.FinishStop: nil, model.FinishLength: nil, model.FinishToolCalls: nil, model.FinishOther: nil, "": nil,
		model.FinishContentFilter: model.ErrContentFilter, model.FinishRefusal: model.ErrRefused, model.FinishError: model.ErrResponseFailed,
	} {
		require.Equal(t, want, reason.Err(), reason)
	}
	require.ErrorIs(t, model.ErrRefused, model.ErrContentFilter)
	require.EqualError(t, model.ErrRefused, "the model refused to answer (the answer was withheld by a content filter)")
}

// TestPricesAreFreeOrNot sets each number of a price in turn, and looks names up at the bounds of
// dates.
func TestPricesAreFreeOrNot(t *testing.T) {
	require.True(t, model.Price{}.Free())
	for i, p := range []model.Price{
		{Input: 1}, {Output: 1}, {CachedInput: 1}, {CacheWrite: 1}, {Reasoning: 1}, {Request: 1}, {Tiers: []model.PriceTier{{Input: 1}}},
		{Tiers: []model.PriceTier{{}, {Output: 1}}}, {Tiers: []model.PriceTier{{CachedInput: 1}}}, {Tiers: []model.PriceTier{{CacheWrite: 1}}},
		{Tiers: []model.PriceTier{{Reasoning: 1}}},
	} {
		require.False(t, p.Free(), i)
	}
	nan := math.NaN()
	for i, tier := range []model.PriceTier{{Input: nan}, {Output: nan}, {CachedInput: nan}, {CacheWrite: nan}, {Reasoning: nan}} {
		_, ok := model.Prices{"p/m": {Input: 1, Tiers: []model.PriceTier{{Input: 1}, tier}}}.Price("p", "m", time.Time{})
		require.False(t, ok, i)
	}
	_, ok := model.Prices{"p/m": {Input: math.MaxFloat64}}.Price("p", "m", time.Time{})
	require.True(t, ok)
	prices := model.Prices{"p/m": {Input: 1}, "m2": {Input: 2}, "": {Input: 3}}
	for name, want := range map[string]float64{
		"m-20000101": 1, "m-19991231": 0, "m-20991231": 1, "m-21000101": 0, "m-20251301": 0, "m@2025-01-31": 1, "m_2025-01-31": 0, "m-2025-02-30": 0,
		"m2-20250101": 2, "20250101": 0, "-20250101": 3, "m-2025010": 0, "x-20250101": 0,
	} {
		price, ok := prices.Price("p", name, time.Time{})
		require.Equal(t, want > 0, ok, name)
		require.InDelta(t, want, price.Input, 0, name)
	}
	tiers := model.Price{Input: 1, Output: 1, Reasoning: 9, CachedInput: 9, CacheWrite: 9, Tiers: []model.PriceTier{
		{Above: 10, Input: 2e6, Output: 3e6, CachedInput: 1e6, CacheWrite: 4e6, Reasoning: 5e6},
	}}
	u := model.Usage{InputTokens: 11, CacheReadTokens: 4, CacheWriteTokens: 2, OutputTokens: 7, ReasoningTokens: 3}
	require.InDelta(t, 5*2+4*1+2*4+4*3+3*5, tiers.Of(u), 1e-9)
	require.InDelta(t, 3*5, tiers.Of(model.Usage{InputTokens: 11, CacheReadTokens: 20, OutputTokens: 3, ReasoningTokens: 9})-20, 1e-9, "counts that do not fit")
}
