// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	blocks := slices.Concat(say("Hello, wörld"), []string{
		start(1, `{"type":"tool_use","id":"a","name":"time","input":{}}`), delta(1, `{"type":"input_json_delta","partial_json":"{\"at\":1}"}`), stop(1),
	})
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	adaptertest.CheckDisturbed(t, open, finished("tool_use", blocks...), map[string]func(string) string{
		"the start twice":       func(s string) string { return begin() + s },
		"the start three times": func(s string) string { return begin() + begin() + s },
		"a proxy's start": func(s string) string {
			return event(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":0,"output_tokens":0}}}`) + s
		},
		"the start again later": func(s string) string { return strings.Replace(s, stop(0), begin()+stop(0), 1) },
		"events without a name": func(s string) string {
			var b strings.Builder
			for line := range strings.Lines(s) {
				if !strings.HasPrefix(line, "event:") {
					b.WriteString(line)
				}
			}
			return b.String()
		},
		"a newer event": func(s string) string { return event(`{"type":"mood","message":"new"}`) + s },
	}, nil)
}

// A proxy that asks again within a stream would otherwise give two answers in one.
func TestSecondAnswerInAStreamIsAnError(t *testing.T) {
	other := strings.Replace(begin(), "msg_1", "msg_2", 1)
	for name, body := range map[string]string{
		"another message": begin() + start(0, `{"type":"text","text":"a"}`) + other + start(1, `{"type":"text","text":"b"}`),
		"the same blocks": begin() + start(0, `{"type":"text","text":"a"}`) + begin() + start(0, `{"type":"text","text":"b"}`),
	} {
		t.Run(name, func(t *testing.T) {
			body += strings.Join(end("end_turn", `{"output_tokens":1}`), "")
			msg, err := newModel(t, serve(t, answer{Body: body}).URL).Generate(context.Background(), hello(), func(model.Delta) error { return nil })
			require.Nil(t, msg)
			require.ErrorContains(t, err, "second message")
			var api *model.APIError
			require.ErrorAs(t, err, &api)
		})
	}
}
