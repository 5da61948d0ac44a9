// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Parts are the texts that show everything that a question is about, besides the changes that have
// been shown.
func Parts(r *acpclient.PermissionRequest, shown []view.FileChange) (parts []string) {
	if r.Call == nil && r.Approval.Title != "" && len(r.Approval.Preview) == 0 {
		parts = append(parts, show.ReceivedText(r.Approval.Title))
	}
	if r.Approval.Reason != "" {
		parts = append(parts, show.ReceivedText(r.Approval.Reason))
	}
	all := r.Approval.Preview
	for i := range all { // the commands first: nothing may push them out of sight
		if all[i].Command != nil {
			parts = append(parts, commandText(r, &all[i]))
		}
	}
	for i := range all {
		if v := &all[i]; v.Command == nil && !repeats(r, v) && (v.Diff == nil || !has(shown, v.Diff)) {
			if v.Diff == nil { // of the agent, which may have written it out
				parts = append(parts, show.ReceivedText(v.Text))
				continue
			}
			parts = append(parts, approval.PreviewText(v))
		}
	}
	if len(all) == 0 && r.Call != nil && len(r.Call.Input) > 0 {
		parts = append(parts, "Arguments:\n"+show.Text(string(r.Call.Input)))
	}
	return parts
}

// commandText shows a command with its directory. That of the session holds if the agent has not
// told one.
func commandText(r *acpclient.PermissionRequest, v *toolset.Preview) string {
	c := *v.Command
	if c.Dir == "" && r.Session != nil {
		c.Dir = r.Session.Cwd()
	}
	return approval.PreviewText(&toolset.Preview{Command: &c})
}

// repeats reports whether a text says nothing but what is shown of a command. Agents of ours send
// both.
func repeats(r *acpclient.PermissionRequest, v *toolset.Preview) bool {
	text, fenced := strings.CutPrefix(strings.TrimSpace(v.Text), "```text\n")
	text, closed := strings.CutSuffix(text, "\n```")
	if !fenced || !closed {
		return false
	}
	return slices.ContainsFunc(r.Approval.Preview, func(p toolset.Preview) bool { return p.Command != nil && text == commandText(r, &p) })
}

func has(shown []view.FileChange, d *toolset.Diff) bool {
	if d.New == nil {
		return false
	}
	for i := range shown {
		if SameChange(&shown[i], &view.FileChange{Path: d.Path, Old: d.Old, New: *d.New}) {
			return true
		}
	}
	return false
}

// SameChange reports whether two changes of a file are equal.
func SameChange(a, b *view.FileChange) bool {
	same := a.Path == b.Path && a.New == b.New && (a.Old == nil) == (b.Old == nil)
	return same && (a.Old == nil || *a.Old == *b.Old)
}
