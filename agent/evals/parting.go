// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/jsonvalue"
)

// Parting is the first step at which two transcripts differ.
type Parting struct {
	// Run is the index of the run, and Step the step in it, counted from 1.
	Run, Step int
	// Base and Next are what each transcript has there: the calls and the text of a response, or
	// the result of a tool that came before it. A transcript that has ended has an empty text.
	Base, Next string
}

// part returns where the transcripts of two trials part, nil if they do not.
func part(base, next *TrialResult) *Parting {
	for run := range max(len(base.Runs), len(next.Runs)) {
		a, b := lines(base.Runs, run), lines(next.Runs, run)
		for i := range max(len(a), len(b)) {
			var x, y line
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if x.text != y.text {
				return &Parting{Run: run, Step: max(x.step, y.step), Base: x.text, Next: y.text}
			}
		}
	}
	return nil
}

// line is one thing that happened in a run.
type line struct {
	step int
	text string
}

// lines returns what happened in a run: results of tools, calls, texts.
func lines(runs []AgentRun, i int) (all []line) {
	if i >= len(runs) {
		return nil
	}
	step := 0
	for _, m := range runs[i].Messages {
		if m.Kind == model.KindResponse {
			step++
		}
		for j := range m.Parts {
			if text := described(&m.Parts[j]); text != "" {
				all = append(all, line{max(step, 1), text})
			}
		}
	}
	return all
}

// described returns a part of a transcript as text; parts that do not matter are empty.
func described(p *model.Part) string {
	switch p.Kind {
	case model.PartUser:
		return "user: " + p.Text
	case model.PartText:
		return "text: " + p.Text
	case model.PartToolCall:
		return "call " + p.Tool + " " + canonical(p.Args)
	case model.PartToolReturn, model.PartRetry:
		return strings.TrimSpace("result of "+p.Tool+" "+string(p.Outcome)) + ": " + p.Text
	}
	return ""
}

// canonical returns arguments in one spelling.
func canonical(args model.RawArgs) string {
	v, err := jsonvalue.Parse(args)
	if err != nil {
		return string(args)
	}
	return shownWhole(v)
}
