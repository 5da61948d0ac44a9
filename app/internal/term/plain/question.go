// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/render"
	"github.com/ponte-go/ponte/internal/show"
)

// Preview shows what a question is about: everything, however long it is, unless the tool call has
// just shown it.
func (p *Printer) Preview(r *acpclient.PermissionRequest) {
	p.locked(func() {
		var shown []view.FileChange
		if r.Call != nil {
			p.call(r.Call)
			c := p.calls[r.Call.ID]
			p.beginCall(c, r.Call)
			shown = c.diffs
		}
		for _, part := range render.Parts(r, shown) {
			for line := range strings.SplitSeq(part, "\n") {
				p.lines(styleNone, "    "+line)
			}
		}
	})
}

// Code returns a word that cannot have been typed before it was shown.
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
			p.lines(styleNone, "  "+p.style(styleBold, strconv.Itoa(i+1))+"  "+show.Received(options[i].Name))
		}
		p.begin(blockLine)
		p.out.WriteString(p.style(
			styleBold, fmt.Sprintf("Answer with a number and %s, such as “1 %s”: ", code, code),
		))
		p.block, p.blank = blockQuestion, false
	})
}

// Field asks for a field of a form, whose answer is the next line.
func (p *Printer) Field(about []string) {
	p.locked(func() {
		for _, line := range about {
			p.lines(styleNone, "  "+line)
		}
		p.begin(blockLine)
		p.out.WriteString(p.style(styleBold, "  › "))
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
