// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"github.com/ponte-go/ponte/agent/model"
)

// budgets counts failed attempts by tool name, and failed outputs in text. Most runs have only a
// few, so a linear search finds them.
type budgets []budget

type budget struct {
	name   string
	failed int
}

// textBudget is the key of outputs in text. It is not the empty string, because a model may call a tool with an empty name.
const textBudget = "\x00text"

// budgetOf returns the key of a retry.
//
//go:noinline
func budgetOf(p *model.Part) string {
	if p.CallID == "" {
		return textBudget
	}
	return p.Tool
}

// find returns the budget of a name, or nil.
//
//go:noinline
func (b *budgets) find(name string) *budget {
	for i := range *b {
		if (*b)[i].name == name {
			return &(*b)[i]
		}
	}
	return nil
}

// attempt returns the number of failed attempts.
func (b *budgets) attempt(name string) int {
	if e := b.find(name); e != nil {
		return e.failed
	}
	return 0
}

// fail counts a failed attempt and returns the new number.
func (b *budgets) fail(name string) int {
	e := b.find(name)
	if e == nil {
		*b = append(*b, budget{name: name})
		e = &(*b)[len(*b)-1]
	}
	e.failed++
	return e.failed
}

// reset clears the failures of a tool that has succeeded.
func (b *budgets) reset(name string) {
	if e := b.find(name); e != nil {
		e.failed = 0
	}
}

// budgetsOf derives the counts of the last turn of a history, which begins with the user's last prompt. Text that a tool shows
// next to its result is not a prompt.
func budgetsOf(history []*model.Message) budgets {
	begin := 0
	for i := len(history) - 1; i >= 0 && begin == 0; i-- {
		says, answers := false, false
		for j := range history[i].Parts {
			p := &history[i].Parts[j]
			says, answers = says || p.Kind == model.PartUser, answers || answersCall(p)
		}
		if says && !answers {
			begin = i
		}
	}
	var b budgets
	for _, m := range history[begin:] {
		if m.Kind == model.KindRequest {
			b.step(m.Parts)
		}
	}
	return b
}

// step counts the answers of one step: a tool fails once per step, however many of its calls failed, and a step in which
// it succeeds and none failed resets it.
func (b *budgets) step(parts []model.Part) {
	for i := range parts {
		p := &parts[i]
		if p.Kind == model.PartRetry && !retried(parts[:i], budgetOf(p)) {
			b.fail(budgetOf(p))
		}
	}
	for i := range parts {
		p := &parts[i]
		if p.Kind == model.PartToolReturn && p.Outcome == model.OutcomeSuccess && !retried(parts, p.Tool) {
			b.reset(p.Tool)
		}
	}
}

func retried(parts []model.Part, tool string) bool {
	for i := range parts {
		if parts[i].Kind == model.PartRetry && budgetOf(&parts[i]) == tool {
			return true
		}
	}
	return false
}
