// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/hide"
)

// WriteCases writes the turns of the recording as a dataset, in the form that package evals reads:
// what the user said, what the agent answered, and the tools that it called, in order. The model
// answers anew when a dataset is run, so loosen what need not be the same. A session has no calls
// of agents inside calls, which the evaluator counts: add them. Turns with a history are left out,
// because a case has none, and so are turns without an answer. Comments name them.
func (r *Recording) WriteCases(w io.Writer) error {
	var b bytes.Buffer
	for _, note := range r.Notes[min(2, len(r.Notes)):] {
		fmt.Fprintf(&b, "# %s\n", oneLine(note))
	}
	fmt.Fprintf(&b, "name: %s\ncases:\n", quotedJSON(r.name()))
	cases := 0
	for i := range r.Turns {
		t := &r.Turns[i]
		switch {
		case len(t.Before) > 0:
			fmt.Fprintf(&b, "# Turn %d is left out: it has a history.\n", i+1)
		case t.Reason != transcript.Done || len(t.Prompt) == 0:
			fmt.Fprintf(&b, "# Turn %d is left out: it ended %s.\n", i+1, t.Reason)
		default:
			cases++
			r.writeCase(&b, t, i+1)
		}
	}
	if cases == 0 {
		return fmt.Errorf("replay: session %s has no turn that can be a case", r.Session)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Recording) name() string {
	if r.Title != "" {
		return r.Title
	}
	return r.Session
}

func (r *Recording) writeCase(b *bytes.Buffer, t *Turn, number int) {
	var said []string
	for i := range t.Prompt {
		if t.Prompt[i].Text != "" {
			said = append(said, t.Prompt[i].Text)
		}
	}
	answer, tools, outputs := "", []string{}, map[string]bool{}
	for _, m := range r.messages(t.Messages) {
		for i := range m.Parts {
			p := &m.Parts[i]
			if outputs[p.Tool] = outputs[p.Tool] || p.Final; ran(p) {
				tools = append(tools, p.Tool)
			}
		}
		if m.Kind == model.KindResponse {
			answer = m.Text()
		}
	}
	tools = slices.DeleteFunc(tools, func(name string) bool { return outputs[name] })
	fmt.Fprintf(b, "- name: %s\n", quotedJSON(fmt.Sprintf("%s, turn %d", r.name(), number)))
	fmt.Fprintf(b, "  inputs: %s\n", quotedJSON(strings.Join(said, "\n")))
	if answer != "" {
		fmt.Fprintf(b, "  expected_output: %s\n", quotedJSON(answer))
	}
	fmt.Fprintf(b, "  metadata: {session: %s}\n", quotedJSON(r.Session))
	fmt.Fprintf(b, "  evaluators:\n  - TrajectoryMatch: {expected_trajectory: %s, order: exact}\n",
		quotedJSON(tools))
}

// ran reports whether a part is what the function of a tool returned, be it a failure.
func ran(p *model.Part) bool {
	denied := p.Decision != nil && p.Decision.Verdict == model.VerdictDeny
	return p.Kind == model.PartToolReturn && executed(p) && !denied
}

// quotedJSON writes a value as JSON, which is YAML.
func quotedJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // it is made of strings
	}
	return strings.TrimSpace(b.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(hide.Controls(text)), " ") }
