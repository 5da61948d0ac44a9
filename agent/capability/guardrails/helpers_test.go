// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// secret is what must not be seen anywhere once it was replaced.
const secret = "4111-1111"

type none struct{}

type (
	guard   = guardrails.Guard[none]
	subject = guardrails.Subject
	verdict = guardrails.Verdict
)

// always gives one verdict.
func always(v verdict) guardrails.Check[none] {
	return func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) { return v, nil }
}

// redact replaces the secret.
func redact(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
	if !strings.Contains(s.Text, secret) {
		return guardrails.Pass(), nil
	}
	return guardrails.Replace(strings.ReplaceAll(s.Text, secret, "[card]"), "card number"), nil
}

type echoArgs struct {
	Text string `json:"text"`
}

// echo emits its argument, and returns it in the text, the content and the metadata of its result.
var echo = toolset.Func("echo", "Echo.", func(_ context.Context, run *toolset.RunContext[none], in echoArgs) (toolset.Result, error) {
	run.Emit("emitted " + in.Text)
	meta, err := json.Marshal(in.Text)
	return toolset.Result{Text: "said " + in.Text, Content: []model.Part{model.User("shown " + in.Text)}, Meta: meta}, err
})

func config(m model.Model, guards ...guard) agent.Config[none, string] {
	return agent.Config[none, string]{
		Model: m, Tools: []*toolset.Tool[none]{echo}, Capabilities: []agent.Capability[none]{guardrails.New(guards...)},
	}
}

func newAgent(t testing.TB, m model.Model, guards ...guard) *agent.Agent[none, string] {
	t.Helper()
	a, err := agent.New(config(m, guards...))
	require.NoError(t, err)
	return a
}

// outcome is all that can be seen of a run.
type outcome struct {
	res    *agent.Result[string]
	err    error
	events []agent.Event
	// seen is everything as text: messages, requests, events and the journal.
	seen string
}

// records returns what a journal has of a run.
func records(t testing.TB, j *journal.Memory, run string) string {
	t.Helper()
	log, err := j.Open(t.Context(), run)
	require.NoError(t, err)
	lines, err := log.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, log.Close())
	return string(bytes.Join(lines, nil))
}

// play runs an agent, observed and with a journal, against a script.
func play(t testing.TB, a *agent.Agent[none, string], script *modeltest.Scripted, prompt string, opts ...agent.RunOption) *outcome {
	t.Helper()
	var o outcome
	j := new(journal.Memory)
	s := a.Stream(t.Context(), none{}, prompt, append(opts, agent.WithJournal(j), agent.WithRunID("run"))...)
	var all strings.Builder
	for e := range s.Events() {
		o.events = append(o.events, e)
		data, err := json.Marshal(e)
		require.NoError(t, err)
		all.Write(data)
		fmt.Fprintf(&all, " %v %v\n", e.Value, e.Err)
	}
	o.res, o.err = s.Result()
	var messages []*model.Message
	if o.err == nil {
		messages = o.res.Messages
	} else {
		var failed *agent.RunError
		require.ErrorAs(t, o.err, &failed)
		messages = failed.Messages
	}
	all.WriteString(records(t, j, "run"))
	data, err := json.Marshal([]any{messages, script.Requests()})
	require.NoError(t, err)
	all.Write(data)
	o.seen = all.String()
	return &o
}
