// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
)

// notice shows a notice.
func (r *renderer) notice(e *view.Entity) {
	r.sendAll(r.noticed(e))
}

// noticed returns the updates that show a notice. What the host says is a message for clients that take no notices; what tools and processors
// say is left out.
func (r *renderer) noticed(e *view.Entity) []acp.SessionUpdate {
	own := strings.HasPrefix(e.ID, "notice:")
	switch {
	case r.notices && own:
		return []acp.SessionUpdate{{Notice: &acp.Notice{Severity: severityOf(e.Class), Title: e.Title}}}
	case r.notices:
		return []acp.SessionUpdate{{Notice: &acp.Notice{Severity: severityOf(e.Class), Title: show.Line(e.Title)}}}
	case own && e.Title != "":
		return []acp.SessionUpdate{{AgentMessageChunk: &acp.ContentChunk{MessageID: messageID(e.ID), Content: acp.TextBlock(e.Title)}}}
	}
	return nil
}

func severityOf(class string) acp.NoticeSeverity {
	severity := acp.NoticeSeverity(class)
	if severity != acp.NoticeSeverityInfo && severity != acp.NoticeSeverityWarning && severity != acp.NoticeSeverityError {
		severity = acp.NoticeSeverityInfo
	}
	return severity
}

// compaction shows that a part of the history was replaced by a summary. The summary of one that was announced is sent by itself.
func (r *renderer) compaction(e *view.Entity) {
	all := r.compacted(e)
	if r.compacting == e.ID && e.Status == view.Completed {
		for _, u := range all {
			for _, block := range u.CompactionUpdate.Summary {
				r.send(acp.SessionUpdate{CompactionSummaryChunk: &acp.CompactionSummaryChunk{CompactionID: u.CompactionUpdate.CompactionID, Content: block}})
			}
			u.CompactionUpdate.Summary = nil
		}
	}
	if r.compacting = ""; !e.Status.Ended() {
		r.compacting = e.ID
	}
	r.sendAll(all)
}

func (r *renderer) compacted(e *view.Entity) []acp.SessionUpdate {
	if !r.compactions {
		return nil
	}
	u := &acp.CompactionUpdate{CompactionID: acp.CompactionID(strings.TrimPrefix(e.ID, "compaction:")), Status: acp.CompactionStatus(e.Status)}
	if text := e.Text(); text != "" {
		u.Summary = []acp.ContentBlock{acp.TextBlock(shown(show.Text(text)))}
	}
	if e.Title != "" {
		u.Error = acp.Replace(show.Line(e.Title))
	}
	return []acp.SessionUpdate{{CompactionUpdate: u}}
}

// planOf returns a plan as the protocol has it.
func planOf(e *view.Entity) *acp.Plan {
	plan := &acp.Plan{Entries: []acp.PlanEntry{}}
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

func stepsOf(p *acp.Plan) []view.Step {
	steps := make([]view.Step, len(p.Entries))
	for i, e := range p.Entries {
		steps[i] = view.Step{Text: e.Content, Status: view.Status(e.Status), Priority: string(e.Priority)}
	}
	return steps
}
