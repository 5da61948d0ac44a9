// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// world is what an agent and a user do to the same files, at random.
type world struct {
	*bench
	r    *rand.Rand
	next int
	// users are the lines that the user wrote, by file.
	users map[string][]string
}

func (w *world) read(name string) []string {
	data, err := w.disk.ReadFile("/project/" + name)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.SplitAfter(string(data), "\n"), func(l string) bool { return l == "" })
}

// edit changes a few lines that the other one has not written, and returns those that were written.
func (w *world) edit(name, who string) (lines, written []string) {
	lines = w.read(name)
	for range 1 + w.r.IntN(2) {
		at := w.r.IntN(len(lines) + 1)
		w.next++
		line := fmt.Sprintf("%s %d\n", who, w.next)
		written = append(written, line)
		if at < len(lines) && strings.HasPrefix(lines[at], "line") && w.r.IntN(2) == 0 {
			lines[at] = line
		} else {
			lines = slices.Insert(lines, at, line)
		}
	}
	return lines, written
}

// step does something, and returns what the files held before an undo.
func (w *world) step(name string) {
	switch w.r.IntN(6) {
	case 0, 1:
		lines, _ := w.edit(name, "agent")
		w.agent(name, strings.Join(lines, ""))
	case 2:
		lines, written := w.edit(name, "user")
		w.user(name, strings.Join(lines, ""))
		w.users[name] = append(w.users[name], written...)
	case 3:
		w.Mark("turn")
	case 4:
		w.undoSome()
	case 5:
		if w.r.IntN(4) > 0 {
			return
		}
		if w.r.IntN(2) == 0 && len(w.read(name)) > 0 && len(w.users[name]) == 0 {
			require.NoError(w.t, w.Remove(w.t.Context(), name, workspace.AnyVersion))
		} else if len(w.read(name)) > 0 {
			w.userRemoves(name)
			w.users[name] = nil
		}
	}
}

// undoSome undoes a random span.
func (w *world) undoSome() {
	marks := w.Checkpoints()
	if len(marks) == 0 {
		return
	}
	s := checkpoint.Span{From: 1 + w.r.IntN(len(marks))}
	if w.r.IntN(2) == 0 {
		s.To = s.From + w.r.IntN(len(marks)-s.From+1)
	}
	before := map[string]string{}
	for _, name := range worldFiles {
		before[name] = strings.Join(w.read(name), "")
	}
	res, err := w.Undo(w.t.Context(), s)
	incomplete, failed := errors.AsType[*checkpoint.IncompleteError](err)
	require.True(w.t, err == nil || failed, "%v", err)
	for _, f := range res.Files {
		require.NoError(w.t, f.Err)
		require.Equal(w.t, f.Action == checkpoint.Rewrite || f.Action == checkpoint.Remove, f.Done)
		if !f.Done {
			require.Equal(w.t, before[f.Name], strings.Join(w.read(f.Name), ""), "a file that is left alone is as it was")
		}
	}
	if failed {
		require.NotEmpty(w.t, incomplete.Error())
	}
	w.nothingLost()
	if res.Checkpoint.ID != 0 && w.r.IntN(2) == 0 {
		w.undo(checkpoint.Only(res.Checkpoint.ID))
		for _, name := range worldFiles {
			require.Equal(w.t, before[name], strings.Join(w.read(name), ""), "an undo of the undo brings back what was there")
		}
	}
}

// nothingLost checks that what the user wrote is there.
func (w *world) nothingLost() {
	for name, lines := range w.users {
		text := strings.Join(w.read(name), "")
		for _, l := range lines {
			require.Contains(w.t, text, l, "the user's line in %s", name)
		}
	}
}

var worldFiles = []string{"a", "b"}

func TestRandomWorkLosesNothingOfTheUser(t *testing.T) {
	for seed := range uint64(400) {
		var text strings.Builder
		for i := range 12 {
			fmt.Fprintf(&text, "line %d\n", i)
		}
		w := &world{bench: newBench(t, files{"a": text.String()}, checkpoint.Options{}), r: rand.New(rand.NewPCG(seed, 1)), users: map[string][]string{}}
		for range 30 {
			w.step(worldFiles[w.r.IntN(2)])
		}
		w.nothingLost()
	}
}

// Without a user in between, an undo of everything brings back the beginning.
func TestRandomWorkCanBeUndone(t *testing.T) {
	for seed := range uint64(100) {
		w := &world{bench: newBench(t, files{"a": "line 1\nline 2\nline 3\n"}, checkpoint.Options{}), r: rand.New(rand.NewPCG(seed, 2))}
		for range 30 {
			name := worldFiles[w.r.IntN(2)]
			switch w.r.IntN(5) {
			case 0:
				w.Mark("turn")
			case 1:
				if marks := w.Checkpoints(); len(marks) > 0 {
					w.undo(checkpoint.Since(1 + w.r.IntN(len(marks))))
				}
			default:
				lines, _ := w.edit(name, "agent")
				w.agent(name, strings.Join(lines, ""))
			}
		}
		w.undo(checkpoint.Span{})
		w.holds("a", "line 1\nline 2\nline 3\n")
		w.holds("b", "-")
	}
}
