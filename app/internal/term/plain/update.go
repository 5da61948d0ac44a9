// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/app/internal/term/text"
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
		p.usage = render.Usage(e.Usage)
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
	now := render.Said(e)
	shown := min(p.said[e.ID], len(now))
	p.said[e.ID] = len(now)
	p.stream(kind, e.ID, now[shown:])
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
