// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Errors, titles and the words of questions say which of the model's texts is meant, and do not
// repeat it: it may be of any length.
func TestNothingRepeatsLongTexts(t *testing.T) {
	const most = 3000
	r, _ := inMemory(t, workspace.MemoryConfig{
		Files: map[string]string{"a": "one\ntwo\n", "dir/b": "b\n"},
		Command: func(c workspace.Command) workspace.MemoryScript {
			if len(c.Args) > 0 {
				return nil // no such program
			}
			return workspace.MemoryPrint("", 0)
		},
	})
	for what, long := range map[string]string{
		"words": strings.Repeat("word ", 4_000), "a word": strings.Repeat("w", 20_000), "quotes": strings.Repeat(`"`, 10_000),
		"parentheses": strings.Repeat("(", 10_000), "brackets": strings.Repeat("[", 10_000), "NUL": strings.Repeat("\x00", 10_000),
		"names": strings.Repeat("d/", 10_000), "up": strings.Repeat("../", 10_000), "percent": "file:///" + strings.Repeat("%2f", 5_000),
		"invalid": strings.Repeat("\xff", 10_000), "lines": strings.Repeat("line\n", 4_000),
	} {
		calls := []toolCall{
			{long, args{}}, {"read_file", args{"path": long}}, {"read_file", args{"path": "a", long: 1}}, {"read_file", args{"path": "a", "line": long}},
			{"read_file", args{"path": "a", "line": "1" + long}},
			{"write_file", args{"path": long, "content": ""}}, {"edit_file", args{"path": long, "edits": []args{{"old_text": "a", "new_text": "b"}}}},
			{"edit_file", args{"path": "a", "edits": []args{{"old_text": long, "new_text": "b"}}}},
			{"edit_file", args{"path": "a", "edits": long}},
			{"list_files", args{"path": long}}, {"list_files", args{"pattern": long}},
			{"search_files", args{"pattern": long}}, {"search_files", args{"pattern": "a", "path": long}}, {"search_files", args{"pattern": "a", "glob": long}},
			{"run_command", args{"command": long}}, {"run_command", args{"command": "make", "args": []string{long}}}, {"run_command", args{"command": "make", "cwd": long}},
			{"run_command", args{"command": "make", "env": args{long: "x"}}}, {"run_command", args{"command": "make", "env": args{"": long}}},
			{"run_command", args{"command": "make", "env": args{"A": long}}},
			{"run_command", args{"command": long, "args": []string{"a"}}},
			{"get_terminal_output", args{"terminal_id": long}}, {"wait_for_terminal_exit", args{"terminal_id": long}},
			{"kill_terminal", args{"terminal_id": long}}, {"release_terminal", args{"terminal_id": long}},
		}
		for i, c := range calls {
			told := r.calls(c)[0].Text
			require.Less(t, len(told), most, "%s, call %d, %.40s: the model was told %.2000q", what, i, c.tool, told)
			for _, q := range r.asked {
				for _, text := range append([]string{q.Approval.Title, q.Approval.ScopeTitle}, notes(&q.Approval)...) {
					require.Less(t, len(text), most, "%s, call %d, %.40s: the question %.2000q", what, i, c.tool, text)
				}
			}
			r.asked = nil
		}
	}
}

// notes are the texts of a question that are not what the model has written.
func notes(a *toolset.Approval) (texts []string) {
	for _, p := range a.Preview {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return texts
}
