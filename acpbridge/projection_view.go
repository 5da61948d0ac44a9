// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
)

// change shows what tools and history processors emit as a change of what the conversation shows: plans, and, for clients that take them,
// compactions and notices. Everything else is shown as the run reports it.
func (p *projection) change(c *view.Change) {
	if c.Op == view.Remove && c.Entity == nil {
		return
	}
	switch e := c.Entity; {
	case e == nil:
	case e.Kind == view.Plan:
		p.send(acp.SessionUpdate{Plan: planOf(e, c.Op == view.Remove)})
	case e.Kind == view.Notice && p.notices:
		severity := acp.NoticeSeverity(e.Class)
		if severity != acp.NoticeSeverityInfo && severity != acp.NoticeSeverityWarning && severity != acp.NoticeSeverityError {
			severity = acp.NoticeSeverityInfo
		}
		p.send(acp.SessionUpdate{Notice: &acp.Notice{Severity: severity, Title: show.Line(e.Title)}})
	case e.Kind == view.Compaction && p.compactions:
		u := &acp.CompactionUpdate{CompactionID: acp.CompactionID(cmp.Or(e.ID, c.ID)), Status: acp.CompactionStatus(e.Status)}
		if text := e.Text(); text != "" {
			u.Summary = []acp.ContentBlock{acp.TextBlock(shown(show.Text(text)))}
		}
		if e.Title != "" {
			u.Error = acp.Replace(show.Line(e.Title))
		}
		p.send(acp.SessionUpdate{CompactionUpdate: u})
	}
}

// planOf returns a plan as the protocol has it, or an empty one.
func planOf(e *view.Entity, empty bool) *acp.Plan {
	plan := &acp.Plan{Entries: []acp.PlanEntry{}}
	if empty {
		return plan
	}
	for _, s := range e.Steps {
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
