// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// describeRequest describes a request in a few words: the parts after the last response, and the
// tools offered.
func describeRequest(req *model.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages", len(req.Messages))
	for i, p := range latestParts(req.Messages) {
		sep := ", the last: "
		if i > 0 {
			sep = "; "
		}
		b.WriteString(sep + describePart(p))
	}
	if len(req.Tools) > 0 {
		names := make([]string, len(req.Tools))
		for i := range req.Tools {
			names[i] = req.Tools[i].Name
		}
		b.WriteString("; tools: " + strings.Join(names, ", "))
	}
	return b.String()
}

// latestParts returns the request parts after the last response.
func latestParts(messages []*model.Message) []*model.Part {
	begin := len(messages)
	for begin > 0 && messages[begin-1].Kind == model.KindRequest {
		begin--
	}
	var parts []*model.Part
	for _, m := range messages[begin:] {
		for i := range m.Parts {
			parts = append(parts, &m.Parts[i])
		}
	}
	return parts
}

func describePart(p *model.Part) string {
	what := string(p.Kind)
	if p.Tool != "" {
		what += " of " + p.Tool
	}
	switch {
	case p.Kind == model.PartMedia:
		return what + " " + p.MediaType
	case p.Outcome != model.OutcomeSuccess:
		what += " (" + string(p.Outcome) + ")"
	}
	return fmt.Sprintf("%s %q", what, shortText(p.Text))
}

// shortText limits the length of text quoted in an error, in characters.
func shortText(s string) string {
	const most = 200
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
