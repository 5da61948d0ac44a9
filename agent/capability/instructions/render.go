// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	standingHeader = "The project has these instructions for agents. If they contradict each other, a later one takes precedence. The user's messages take precedence over all of them."
	touchedHeader  = "This directory has its own instructions. They take precedence over the instructions of its parent directories."
)

// frame finds what could be taken for the frame around a file.
var frame = regexp.MustCompile(`(?i)<(\s*/?\s*project_instructions)`)

// render returns the text of documents, or an empty string if there are none.
func (p *project) render(w workspace.Workspace, header string, docs []document) string {
	if len(docs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(header)
	for _, d := range docs {
		if d.text != "" {
			fmt.Fprintf(&b, "\n\n<project_instructions file=%q>\n%s", shown(w, d.path), frame.ReplaceAllString(d.text, "&lt;$1"))
			if !strings.HasSuffix(d.text, "\n") {
				b.WriteByte('\n')
			}
			b.WriteString("</project_instructions>")
		}
		for _, note := range d.notes {
			fmt.Fprintf(&b, "\n\n[%s]", note)
		}
	}
	return b.String()
}
