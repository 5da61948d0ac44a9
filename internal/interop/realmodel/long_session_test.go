// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

var realSummaries = flag.Bool("real-summaries", false, "have the real model write the summaries of the long session too, which takes twice as long")

// logged is a model that keeps its requests, what they had in tokens, and what was refused.
type logged struct {
	model.Model
	requests []*model.Request
	tokens   []model.Usage
	refused  int
}

func (l *logged) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	msg, err := l.Model.Generate(ctx, req, sink)
	if err != nil {
		l.refused++
		return msg, err
	}
	l.requests = append(l.requests, req)
	l.tokens = append(l.tokens, msg.Usage)
	return msg, nil
}

// extends reports whether a request begins with all messages of the one before.
func extends(before, now *model.Request) bool {
	if len(now.Messages) < len(before.Messages) {
		return false
	}
	for i, m := range before.Messages {
		if !reflect.DeepEqual(content(m), content(now.Messages[i])) {
			return false
		}
	}
	return true
}

// content is what is sent of a message.
func content(m *model.Message) []model.Part {
	c := m.Clone()
	for i := range c.Parts {
		c.Parts[i].Meta = nil
	}
	return c.Parts
}

// page is text that a user pastes: a line says what it is about, the others mean nothing.
func page(turn int) string {
	words := strings.Fields("river stone lamp window garden paper bottle train summer yellow quiet market winter bridge sugar table island letter")
	rnd := rand.New(rand.NewPCG(uint64(turn), 1))
	var b strings.Builder
	for line := range 60 {
		if line == 30 {
			fmt.Fprintf(&b, "The locker of this page has the code %d.\n", code(turn))
		}
		for range 12 {
			b.WriteString(words[rnd.IntN(len(words))] + " ")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func code(turn int) int { return 4000 + 37*turn }

// A session ten times as long as the context window: each turn pastes a page and asks for what stands in the middle of it. Every turn is
// answered, the server refuses none, and a request that does not begin with the one before follows a compaction.
func TestSessionTenTimesAsLongAsTheWindowIsFinished(t *testing.T) {
	const window = compaction.MinWindow
	m := &logged{Model: newModel(t)}
	summaries := &logged{Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("The user has pasted pages, and was told the code of the locker of each.")), nil
	})}
	if *realSummaries {
		summaries.Model = newModel(t)
	}
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: m, Instructions: "Answer the user's question about the page in one short sentence.", Settings: settings(60),
		Capabilities: []agent.Capability[struct{}]{compaction.New(compaction.Options[struct{}]{Model: summaries, Window: window, KeepTurns: 1})},
	})
	require.NoError(t, err)

	var messages []*model.Message
	var pasted int64
	changed, right, turns := 0, 0, 0
	for pasted < 10*window {
		before := len(m.requests)
		stream := a.Stream(t.Context(), struct{}{}, fmt.Sprintf("%s\nWhich code has the locker of this page?", page(turns)), agent.WithHistory(messages))
		for e := range stream.Events() {
			if e.Kind == agent.EventCustom {
				t.Logf("turn %d: %T", turns, e.Value)
			}
		}
		res, err := stream.Result()
		require.NoError(t, err, "turn %d", turns)
		messages = res.Messages
		if strings.Contains(res.Output, fmt.Sprint(code(turns))) {
			right++
		}
		if before > 0 && !extends(m.requests[before-1], m.requests[before]) {
			changed++
		}
		used := m.tokens[len(m.tokens)-1]
		t.Logf("turn %d: %d tokens in of which %d cached, %q", turns, used.InputTokens, used.CacheReadTokens, res.Output)
		require.LessOrEqual(t, used.InputTokens, int64(window), "turn %d", turns)
		pasted += int64(len(page(turns)) / 6) // a word of the page has at least six bytes and is at least one token
		turns++
	}
	compacted := len(summaries.requests)
	t.Logf("%d turns, %d right, %d summaries, %d prefixes changed", turns, right, compacted, changed)
	require.Zero(t, m.refused+summaries.refused)
	require.Positive(t, compacted)
	require.LessOrEqual(t, changed, compacted, "the prefix changes only where something was compacted")
	require.Greater(t, right, turns*3/4, "a small model looks up most of the codes")
}
