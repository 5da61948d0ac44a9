// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// foldedSession returns what a session shows, an entity a line: messages, thoughts, tool calls, plans and compactions. Terminals are shown
// as their text. output returns what a terminal has written: a terminal that an agent let go belongs to the client alone.
func foldedSession(s *view.Snapshot, output func(terminal string) string) []string {
	var all []string
	for e := range s.All() {
		switch e.Kind {
		case view.Message, view.Thought, view.ToolCall, view.Plan, view.Compaction:
			all = append(all, foldedEntity(e, output))
		}
	}
	return all
}

func foldedEntity(e *view.Entity, output func(terminal string) string) string {
	f := *e
	f.Content = nil
	for _, c := range e.Content {
		if c.Kind == view.Output {
			c = view.Content{Kind: view.Text, Text: output(strings.TrimPrefix(c.Ref, "command:"))}
		}
		if c.Kind == view.Text && e.Kind == view.ToolCall {
			c.Text = unfenced(c.Text)
		}
		if n := len(f.Content); n > 0 && c.Kind == view.Text && f.Content[n-1].Kind == view.Text {
			f.Content[n-1].Text += c.Text
			continue
		}
		f.Content = append(f.Content, c)
	}
	f.Input, f.Output = compact(e.Input), compact(e.Output)
	line, err := json.Marshal(&f)
	if err != nil {
		return fmt.Sprintf("%v: %+v", err, f)
	}
	return string(line)
}

// unfenced takes the Markdown fence off the output of a command, and the newlines at its end, which a terminal does not show.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		if _, inside, ok := strings.Cut(rest, "\n"); ok {
			text = strings.TrimSuffix(inside, "```")
		}
	}
	return strings.TrimRight(text, "\n")
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
