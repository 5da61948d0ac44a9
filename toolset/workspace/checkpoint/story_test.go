// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Stories of an agent and a user who work on the same files are recorded, with the plan and the
// result of each undo, the changes of each span and the log: with room for everything, and with
// bounds of contents and of changes.
func TestStoriesAreRecorded(t *testing.T) {
	var b strings.Builder
	for seed, o := range []checkpoint.Options{{}, {}, {}, {MaxChanges: 4}, {MaxChanges: 1}, {MaxBytes: 40}, {MaxBytes: 90, MaxChanges: 6}} {
		fmt.Fprintf(&b, "# story %d, %d bytes, %d changes\n", seed, o.MaxBytes, o.MaxChanges)
		tellStory(newBench(t, nil, o), rand.New(rand.NewPCG(uint64(seed), 5)), &b)
	}
	const name = "testdata/stories.txt"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(name, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(wantLines), len(gotLines)) {
		require.Equal(t, wantLines[i], gotLines[i], "line %d", i+1)
	}
	require.Len(t, gotLines, len(wantLines))
}

func tellStory(w *bench, r *rand.Rand, b *strings.Builder) {
	files := []string{"a", "b", "c"}
	w.user("a", "one\ntwo\nthree\n")
	w.user("b", "x\x00")
	for step := range 28 {
		name := files[r.IntN(3)]
		held := w.all(name)[name]
		text := strings.TrimPrefix(held, "-")
		switch lines := strings.SplitAfter(text, "\n"); r.IntN(4) {
		case 0:
			text += fmt.Sprintf("new %d\n", step)
		case 1:
			lines[r.IntN(len(lines))] = fmt.Sprintf("line %d\n", step)
			text = strings.Join(lines, "")
		case 2:
			text = fmt.Sprintf("first %d\n", step) + text
		case 3:
			text = strings.Join(lines[:len(lines)-1], "")
		}
		switch r.IntN(9) {
		case 0, 1, 2:
			w.agent(name, text)
			fmt.Fprintf(b, "agent writes %s: %q\n", name, text)
		case 3:
			w.user(name, text)
			fmt.Fprintf(b, "user writes %s: %q\n", name, text)
		case 4:
			fmt.Fprintf(b, "agent removes %s: %v\n", name, w.Remove(w.t.Context(), name, workspace.AnyVersion))
		case 5:
			w.userRemovesAny(name)
			fmt.Fprintf(b, "user removes %s\n", name)
		case 6, 7:
			fmt.Fprintf(b, "checkpoint %d\n", w.Mark(fmt.Sprintf("turn %d", step)).ID)
		case 8:
			marks := w.Checkpoints()
			if len(marks) == 0 {
				continue
			}
			s := checkpoint.Span{From: marks[r.IntN(len(marks))].ID}
			if r.IntN(2) == 0 {
				s.To = s.From + r.IntN(3)
			}
			p, err := w.PlanUndo(w.t.Context(), s)
			fmt.Fprintf(b, "plan of %v: %v\n", s, err)
			if err != nil {
				continue
			}
			tellUndo(b, p.Files, p.Dropped)
			res, err := w.Apply(w.t.Context(), p)
			fmt.Fprintf(b, "undone: %v, checkpoint %d\n", err, res.Checkpoint.ID)
			tellUndo(b, res.Files, res.Dropped)
		}
		fmt.Fprintf(b, "  holds %q\n", w.all(files...))
		if c, ok := w.Undoable(); ok {
			fmt.Fprintf(b, "  undoable %d %s\n", c.ID, c.Title)
		}
		if step%4 == 3 {
			tellState(w, b)
		}
	}
}

func tellUndo(b *strings.Builder, files []checkpoint.FileUndo, dropped int) {
	for _, f := range files {
		fmt.Fprintf(b, "  %s %v %q -> %q, %q done %t %v\n", f.Name, f.Action, f.Old, f.New, f.Reason, f.Done, f.Err)
		for _, c := range f.Conflicts {
			fmt.Fprintf(b, "    at %d+%d %q -> %q\n", c.Line, c.Lines, c.Current, c.Before)
		}
	}
	if dropped > 0 {
		fmt.Fprintf(b, "  dropped %d\n", dropped)
	}
}

// tellState writes the log and the changes of all spans.
func tellState(w *bench, b *strings.Builder) {
	l := w.Log()
	for i := range l.Checkpoints {
		l.Checkpoints[i].Time = time.Time{}
	}
	for _, list := range [][]any{{l.Checkpoints}, {l.Changes}, {l.Commands}, {l.Dropped}} {
		raw, err := json.Marshal(list[0])
		require.NoError(w.t, err)
		var parts []any
		if json.Unmarshal(raw, &parts) != nil {
			fmt.Fprintf(b, "  log %s\n", raw)
		}
		for _, part := range parts {
			delete(part.(map[string]any), "time")
			raw, err = json.Marshal(part)
			require.NoError(w.t, err)
			fmt.Fprintf(b, "  log %s\n", raw)
		}
	}
	for _, c := range w.Checkpoints() {
		for _, s := range []checkpoint.Span{checkpoint.Only(c.ID), {From: c.ID}} {
			changes, err := w.Changes(s)
			fmt.Fprintf(b, "  changes of %v: %v\n", s, err)
			if err == nil {
				for _, f := range changes.Files {
					fmt.Fprintf(b, "    %s %s\n", f.Kind, f.Name)
				}
			}
		}
	}
}
