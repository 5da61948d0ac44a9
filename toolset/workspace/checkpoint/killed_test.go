// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// stopping calls a function before and after each change of a file.
type stopping struct {
	*workspace.Memory
	at func(moment string)
}

func (s *stopping) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	s.at("before")
	defer s.at("after")
	return s.Memory.ApplyChange(ctx, path, c)
}

func (s *stopping) Remove(ctx context.Context, path string, v workspace.Version) error {
	s.at("before")
	defer s.at("after")
	return s.Memory.Remove(ctx, path, v)
}

// A process that is killed in the middle of a change leaves word of it. The next one takes the turn
// back as a whole, whether the file was changed or not, and says that the change is unsure.
func TestChangeInWhoseMiddleTheProcessWasKilledIsTakenBack(t *testing.T) {
	for what, change := range map[string]func(b *bench){
		"edit":   func(b *bench) { b.agent("a", "two\n") },
		"create": func(b *bench) { b.agent("new", "n\n") },
		"empty":  func(b *bench) { b.agent("new", "") },
		"remove": func(b *bench) { require.NoError(b.t, b.Remove(b.t.Context(), "a", workspace.AnyVersion)) },
		"replace whatever is there": func(b *bench) {
			_, err := b.Write(b.t.Context(), "a", []byte("two\n"), workspace.AnyVersion)
			require.NoError(b.t, err)
		},
	} {
		for _, moment := range []string{"before", "after"} {
			for _, earlier := range []bool{false, true} { // changes of the same turn
				dir, left := t.TempDir(), filepath.Join(t.TempDir(), "left")
				b := newBench(t, files{"a": "one\n"}, checkpoint.Options{})
				outer := &stopping{Memory: b.ws, at: func(string) {}}
				r, err := checkpoint.Keep(outer, dir, checkpoint.Options{})
				require.NoError(t, err)
				b.Recorder = r
				checkpoint.NewTurns(r).Mark("t1", "first")
				if earlier {
					b.agent("a", "one and a half\n")
					b.agent("other", "x\n")
				}
				disk := map[string]string{}
				outer.at = func(now string) {
					if now != moment {
						return
					}
					require.NoError(t, os.CopyFS(left, os.DirFS(dir)))
					disk = b.all("a", "new", "other")
				}
				change(b)
				for name, text := range disk { // as the killed process has left it
					if b.userRemovesAny(name); text != "-" {
						b.user(name, text)
					}
				}

				next, err := checkpoint.Keep(b.ws, left, checkpoint.Options{})
				require.NoError(t, err, "%s, killed %s", what, moment)
				changes, err := next.Changes(checkpoint.Span{})
				require.NoError(t, err)
				unsure := 0
				for i := range changes.Files {
					if changes.Files[i].Unsure {
						unsure++
					}
				}
				require.Equal(t, 1, unsure, "%s, killed %s", what, moment)
				_, err = checkpoint.NewTurns(next).Undo(t.Context(), "t1")
				require.NoError(t, err, "%s, killed %s", what, moment)
				b.holds("a", "one\n")
				b.holds("new", "-")
				b.holds("other", "-")
			}
		}
	}
}

// What was refused is not intended any more, in this process and in the next.
func TestRefusedChangeLeavesNoWord(t *testing.T) {
	dir := t.TempDir()
	b, again := keptBench(t, files{"a": "one\n"}, dir, checkpoint.Options{})
	turns := again()
	turns.Mark("t1", "first")
	_, err := b.Write(t.Context(), "a", []byte("two\n"), "v-old")
	require.ErrorIs(t, err, workspace.ErrChanged)
	require.ErrorIs(t, b.Remove(t.Context(), "a", "v-old"), workspace.ErrChanged)
	again()
	require.Empty(t, b.Log().Changes)
	require.Equal(t, []string{"log.json"}, kept(t, dir))
}

// What somebody writes between the end of a change and its record is theirs: an undo keeps it,
// and the next change of the version that the agent knows is refused.
func TestFileThatChangesBeforeItIsRecordedIsNotTheAgents(t *testing.T) {
	b := newBench(t, files{"a": "one\n1\n2\n3\n"}, checkpoint.Options{})
	outer := &stopping{Memory: b.ws, at: func(string) {}}
	b.Recorder = checkpoint.New(outer, checkpoint.Options{})
	mark := b.Mark("turn").ID
	outer.at = func(moment string) {
		if moment == "after" {
			b.user("a", "two\n1\n2\n3\nuser\n")
		}
	}
	f, err := b.Read(t.Context(), "a", workspace.Range{})
	require.NoError(t, err)
	version, err := b.Write(t.Context(), "a", []byte("two\n1\n2\n3\n"), f.Version)
	require.NoError(t, err)
	outer.at = func(string) {}
	_, err = b.Write(t.Context(), "a", []byte("three\n"), version)
	require.ErrorIs(t, err, workspace.ErrChanged)
	b.undo(checkpoint.Since(mark))
	b.holds("a", "one\n1\n2\n3\nuser\n")
}
