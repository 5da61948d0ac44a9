// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Preview shows what a question is about: everything, however long it is, unless the tool call has just shown it.
func (p *Printer) Preview(r *acpclient.PermissionRequest) {
	p.locked(func() {
		var shown []view.FileChange
		if r.Call != nil {
			p.call(r.Call)
			c := p.calls[r.Call.ID]
			p.beginCall(c, r.Call)
			shown = c.diffs
		}
		for _, part := range Parts(r, shown) {
			for line := range strings.SplitSeq(part, "\n") {
				p.lines(styleNone, "    "+line)
			}
		}
	})
}

// Parts are the texts that show everything that a question is about, besides the changes that have been shown.
func Parts(r *acpclient.PermissionRequest, shown []view.FileChange) (parts []string) {
	if r.Call == nil && r.Approval.Title != "" && len(r.Approval.Preview) == 0 {
		parts = append(parts, show.Text(r.Approval.Title))
	}
	if r.Approval.Reason != "" {
		parts = append(parts, show.Text(r.Approval.Reason))
	}
	all := r.Approval.Preview
	for i := range all { // the commands first: nothing may push them out of sight
		if all[i].Command != nil {
			parts = append(parts, approval.PreviewText(&all[i]))
		}
	}
	for i := range all {
		if v := &all[i]; v.Command == nil && !repeats(r, v) && (v.Diff == nil || !has(shown, v.Diff)) {
			parts = append(parts, approval.PreviewText(v))
		}
	}
	if len(all) == 0 && r.Call != nil && len(r.Call.Input) > 0 {
		parts = append(parts, "Arguments:\n"+show.Text(string(r.Call.Input)))
	}
	return parts
}

// repeats reports whether a text says nothing but what is shown of a command, in the session's directory. Agents of ours send both.
func repeats(r *acpclient.PermissionRequest, v *toolset.Preview) bool {
	text, fenced := strings.CutPrefix(strings.TrimSpace(v.Text), "```text\n")
	if !fenced {
		return false
	}
	text = strings.TrimSuffix(text, "\n```")
	for i := range r.Approval.Preview {
		if c := r.Approval.Preview[i].Command; c != nil {
			at := *c
			if at.Dir == "" && r.Session != nil {
				at.Dir = r.Session.Cwd()
			}
			if text == approval.PreviewText(&toolset.Preview{Command: &at}) {
				return true
			}
		}
	}
	return false
}

func has(shown []view.FileChange, d *toolset.Diff) bool {
	if d.New == nil {
		return false
	}
	for i := range shown {
		if sameChange(&shown[i], &view.FileChange{Path: d.Path, Old: d.Old, New: *d.New}) {
			return true
		}
	}
	return false
}

// Code returns a word that nobody can have typed before it was shown.
func Code() string {
	const letters = "bcdfghjkmnpqrstvwxz"
	word := make([]byte, 5)
	_, _ = rand.Read(word)
	for i := range word {
		word[i] = letters[int(word[i])%len(letters)]
	}
	return string(word)
}

// Ask shows the options, and how to choose one: by its number and the code.
func (p *Printer) Ask(options []acp.PermissionOption, code string) {
	p.locked(func() {
		for i := range options {
			p.lines(styleNone, "  "+p.style(styleBold, strconv.Itoa(i+1))+"  "+show.Line(options[i].Name))
		}
		p.begin(blockLine)
		p.out.WriteString(p.style(styleBold, fmt.Sprintf("Answer with a number and %s, such as “1 %s”: ", code, code)))
		p.block, p.blank = blockQuestion, false
	})
}

// Answer reads an answer to [Printer.Ask]. It returns -1 for a line that is none.
func Answer(line, code string, options int) int {
	number, word, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > options || strings.TrimSpace(word) != code {
		return -1
	}
	return n - 1
}

// Asked shows a question that no person answered, and why it has the answer that it has.
func (p *Printer) Asked(r *acpclient.PermissionRequest, _, why string) {
	p.Preview(r)
	p.Note(why)
}

// Ended does nothing: how a turn ended is told by notes and errors.
func (p *Printer) Ended(string, string) {}

// Failed does nothing: errors go to the standard error.
func (p *Printer) Failed(int, string) {}
