// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/examples/ideagent/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// Update shows what has changed.
func (p *Printer) Update(u *view.Update) {
	p.locked(func() {
		for i := range u.Changes {
			if c := &u.Changes[i]; c.Entity != nil {
				p.change(c.Entity)
			}
		}
	})
}

func (p *Printer) change(e *view.Entity) {
	switch e.Kind {
	case view.Message:
		if e.Role != view.User {
			p.say(blockText, e)
		}
	case view.Thought:
		p.say(blockThought, e)
	case view.ToolCall:
		p.call(e)
	case view.Command:
		p.command(e)
	case view.Plan:
		p.showPlan(e.Steps)
	case view.Options:
		p.options(e.Settings)
	case view.Usage:
		p.usage = Usage(e.Usage)
	case view.Notice:
		line := text.OneLine(e.Title)
		if more := text.OneLine(e.Text()); more != "" {
			line += ": " + more
		}
		p.lines(styleYellow, "  "+line)
	case view.Compaction:
		if e.Status.Ended() {
			p.lines(styleDim, "  The agent has summarised the conversation so far.")
		}
	}
}

// say shows what a message or a thought has now and had not before.
func (p *Printer) say(kind block, e *view.Entity) {
	now := Said(e)
	shown := min(p.said[e.ID], len(now))
	p.said[e.ID] = len(now)
	p.stream(kind, e.ID, now[shown:])
}

// Said returns the text of a message, with a word for each piece of content that is no text.
func Said(e *view.Entity) string {
	if !slices.ContainsFunc(e.Content, func(c view.Content) bool { return c.Kind != view.Text }) {
		return e.Text()
	}
	var b strings.Builder
	for i := range e.Content {
		switch c := &e.Content[i]; c.Kind {
		case view.Text:
			b.WriteString(c.Text)
		case view.Link:
			b.WriteString("[" + text.OneLine(c.Name) + "]")
		case view.Image, view.Audio, view.Resource:
			b.WriteString("[" + string(c.Kind) + "]")
		default:
			b.WriteString("[content of an unknown kind]")
		}
	}
	return b.String()
}

// showPlan shows the steps that are new or have changed.
func (p *Printer) showPlan(steps []view.Step) {
	for i, s := range steps {
		if i < len(p.plan) && p.plan[i] == s {
			continue
		}
		mark := "☐"
		switch s.Status {
		case view.Running:
			mark = "▸"
		case view.Completed:
			mark = "☑"
		}
		p.lines(styleDim, "  "+mark+" "+text.OneLine(s.Text))
	}
	p.plan = steps
}

// options shows the settings that have changed.
func (p *Printer) options(all []view.Setting) {
	now := map[string]string{}
	for _, s := range all {
		now[s.ID] = s.Value
		if before, known := p.settings[s.ID]; known && before != s.Value {
			p.lines(styleDim, "  "+show.Line(s.ID)+": "+show.Line(s.Value))
		}
	}
	p.settings = now
}

// Usage describes how full the context is, and what the conversation has cost.
func Usage(t *view.Tokens) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "context: %d", t.Used)
	if t.Size > 0 {
		fmt.Fprintf(&b, " of %d tokens (%.0f %%)", t.Size, float64(t.Used)/float64(t.Size)*100)
	} else {
		b.WriteString(" tokens")
	}
	if t.Currency != "" {
		fmt.Fprintf(&b, ", cost: %.4f %s", t.Cost, text.OneLine(t.Currency))
	}
	return b.String()
}
