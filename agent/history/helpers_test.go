// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{}

func request(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

// process applies a processor and checks what holds of every one.
func process(t testing.TB, p history.Processor[deps], messages []*model.Message) []*model.Message {
	t.Helper()
	return processIn(t, p, nil, messages)
}

func processIn(t testing.TB, p history.Processor[deps], run *toolset.RunContext[deps], messages []*model.Message) []*model.Message {
	t.Helper()
	before, shared := encode(t, messages), slices.Clone(messages)
	out, err := p(context.Background(), run, messages)
	require.NoError(t, err)
	require.Equal(t, before, encode(t, messages), "messages are never changed")
	require.Equal(t, shared, messages)
	again, err := p(context.Background(), run, out)
	require.NoError(t, err)
	require.True(t, same(out, again), "a processor returns its own result as it is:\n%s\n%s", dump(out), dump(again))
	return out
}

// same reports whether two histories are the same slice.
func same(a, b []*model.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func encode(t testing.TB, messages []*model.Message) string {
	t.Helper()
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(data)
}

// dump shows a history in a compact form, one message a line.
func dump(messages []*model.Message) string {
	var lines []string
	for _, m := range messages {
		parts := make([]string, len(m.Parts))
		for i := range m.Parts {
			parts[i] = dumpPart(&m.Parts[i])
		}
		lines = append(lines, strings.Join(append([]string{string(m.Kind[:3])}, parts...), " "))
	}
	return strings.Join(lines, "\n")
}

func dumpPart(p *model.Part) string {
	text := p.Text
	if len(text) > 40 {
		text = fmt.Sprintf("%s..%d", text[:8], len(text))
	}
	switch p.Kind {
	case model.PartToolCall:
		return "call:" + p.CallID
	case model.PartToolReturn:
		return "ret:" + p.CallID + ":" + text
	case model.PartRetry:
		return "retry:" + p.CallID + ":" + text
	}
	return string(p.Kind) + ":" + text
}

// turn is a prompt, a number of steps with a tool call each, and an answer.
func turn(name string, steps int) []*model.Message {
	run := "run-" + name
	messages := []*model.Message{request(model.User("ask " + name))}
	for i := range steps {
		id := fmt.Sprintf("%s%d", name, i)
		messages = append(messages,
			model.Response(model.ToolCall(id, "look", `{}`)),
			request(model.ToolReturn(id, "look", "seen "+id)))
	}
	messages = append(messages, model.Response(model.Text("answer "+name)))
	for _, m := range messages {
		m.RunID, m.ConversationID = run, "conversation"
	}
	return messages
}

// turns is a history of whole turns that ends with a prompt.
func turns(names string, steps int) []*model.Message {
	var messages []*model.Message
	for _, name := range names {
		messages = append(messages, turn(string(name), steps)...)
	}
	return append(messages, request(model.User("now")))
}

// texts are the first texts of messages.
func texts(messages []*model.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Parts[0].Text+m.Parts[0].CallID)
	}
	return strings.Join(all, ", ")
}
