// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/markdown"
	"github.com/ponte-go/ponte/internal/show"
)

// usage shows the size of the context and the cost of the session.
func (v *table) usage(u *view.Tokens) error {
	if u == nil {
		return nil
	}
	all := &acp.UsageUpdate{Used: u.Used, Size: u.Size}
	if u.Cost > 0 {
		all.Cost = &acp.Cost{Amount: u.Cost, Currency: u.Currency}
	}
	return v.update(acp.SessionUpdate{UsageUpdate: all})
}

// Info returns what a list of sessions shows of the session.
func Info(e *view.Entity) acp.SessionUpdate {
	u := &acp.SessionInfoUpdate{}
	if e.Title != "" {
		u.Title = acp.Replace(e.Title)
	}
	if !e.Updated.IsZero() {
		u.UpdatedAt = acp.Replace(e.Updated.UTC().Format(time.RFC3339Nano))
	}
	return acp.SessionUpdate{SessionInfoUpdate: u}
}

// notice shows a notice. To clients that take no notices, a notice of the host is a message, and
// other notices are left out.
func (v *table) notice(d *view.Delta) error {
	e := d.Entity
	own := strings.HasPrefix(e.ID, "notice:")
	switch {
	case d.Known != nil:
	case v.options.Notices && own:
		return v.update(acp.SessionUpdate{Notice: &acp.Notice{Severity: severityOf(e.Class), Title: e.Title}})
	case v.options.Notices:
		return v.update(acp.SessionUpdate{Notice: &acp.Notice{Severity: severityOf(e.Class), Title: show.Line(e.Title)}})
	case own && e.Title != "":
		c := &acp.ContentChunk{MessageID: MessageID(e.ID), Content: acp.TextBlock(e.Title)}
		return v.update(acp.SessionUpdate{AgentMessageChunk: c})
	}
	return nil
}

func severityOf(class string) acp.NoticeSeverity {
	switch s := acp.NoticeSeverity(class); s {
	case acp.NoticeSeverityInfo, acp.NoticeSeverityWarning, acp.NoticeSeverityError:
		return s
	}
	return acp.NoticeSeverityInfo
}

// compaction shows that a part of the history was replaced by a summary. What the client does not
// know of the summary of one that was announced is sent by itself.
func (v *table) compaction(e, known *view.Entity) error {
	if !v.options.Compactions {
		return nil
	}
	u := &acp.CompactionUpdate{
		CompactionID: acp.CompactionID(strings.TrimPrefix(e.ID, "compaction:")), Status: acp.CompactionStatus(e.Status),
	}
	if text := e.Text(); text != "" {
		u.Summary = []acp.ContentBlock{acp.TextBlock(show.Text(text))}
	}
	if e.Title != "" {
		u.Error = acp.Replace(show.Line(e.Title))
	}
	if known != nil && !known.Status.Ended() && e.Status == view.Completed {
		if more, ok := strings.CutPrefix(e.Text(), known.Text()); ok {
			u.Summary = nil
			if err := v.summary(u.CompactionID, more); err != nil {
				return err
			}
		}
	}
	return v.update(acp.SessionUpdate{CompactionUpdate: u})
}

// summary sends what a summary has more than the client knows.
func (v *table) summary(id acp.CompactionID, more string) error {
	if more == "" {
		return nil
	}
	c := &acp.CompactionSummaryChunk{CompactionID: id, Content: acp.TextBlock(show.Text(more))}
	return v.update(acp.SessionUpdate{CompactionSummaryChunk: c})
}

// Plan returns a plan as the protocol has it. Statuses and priorities that it does not know become
// pending and medium.
func Plan(steps []view.Step) *acp.Plan {
	plan := &acp.Plan{Entries: []acp.PlanEntry{}}
	for _, s := range steps {
		entry := acp.PlanEntry{Content: show.Line(s.Text), Status: acp.PlanEntryStatus(s.Status), Priority: acp.PlanEntryPriority(s.Priority)}
		switch entry.Status {
		case acp.PlanEntryStatusPending, acp.PlanEntryStatusInProgress, acp.PlanEntryStatusCompleted:
		default:
			entry.Status = acp.PlanEntryStatusPending
		}
		switch entry.Priority {
		case acp.PlanEntryPriorityHigh, acp.PlanEntryPriorityMedium, acp.PlanEntryPriorityLow:
		default:
			entry.Priority = acp.PlanEntryPriorityMedium
		}
		plan.Entries = append(plan.Entries, entry)
	}
	return plan
}

// released replaces the terminal of a call that has ended by its output: the client does not have
// the terminal.
func released(e *view.Entity) *view.Entity {
	if !e.Status.Ended() {
		return e
	}
	shown := *e
	shown.Content = nil
	for i := range e.Content {
		c := e.Content[i]
		if c.Kind != view.Output {
			shown.Content = append(shown.Content, c)
			continue
		}
		var end struct{ Output string }
		if json.Unmarshal(e.Output, &end) == nil && end.Output != "" {
			shown.Content = append(shown.Content, view.Content{Kind: view.Text, Text: Fenced(end.Output)})
		}
	}
	if e.Content != nil && shown.Content == nil {
		shown.Content = []view.Content{}
	}
	return &shown
}

// Fenced returns text as clients show it as it is. They render other text as Markdown, which could
// hide parts of it.
func Fenced(text string) string {
	fence := markdown.Fence(text, 3)
	return fence + "text\n" + text + "\n" + fence
}
