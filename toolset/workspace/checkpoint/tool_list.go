// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const listChangesDescription = "List the changes that were made to files with these tools, by checkpoint; each turn begins one. With a checkpoint, show its changes as a diff. " +
	"Changes made by commands or by the user are not listed."

type listChangesArgs struct {
	Checkpoint int    `json:"checkpoint,omitempty" jsonschema_description:"Show the changes of this checkpoint as a diff." validate:"omitempty,min=1"`
	Path       string `json:"path,omitempty" jsonschema_description:"With checkpoint: show the diff of this file only."`
}

const (
	maxListed = 20       // checkpoints
	maxNamed  = 50       // files of a checkpoint
	maxDiff   = 32 << 10 // bytes
)

func listChanges(ctx context.Context, r *Recorder, in listChangesArgs) (string, error) {
	if in.Checkpoint != 0 {
		return r.showChanges(ctx, in)
	}
	marks, undone := r.Checkpoints(), r.undoneNow()
	var shown []string
	for i := len(marks) - 1; i >= 0; i-- {
		c, err := r.Changes(Only(marks[i].ID))
		if err != nil || len(c.Files)+len(c.Commands) == 0 {
			continue
		}
		if len(shown) == maxListed {
			shown = append(shown, "[older checkpoints are not shown]\n")
			break
		}
		shown = append(shown, c.summary(&marks[i], undone[marks[i].ID]))
	}
	if len(shown) == 0 {
		return "No changes were recorded.", nil
	}
	var b strings.Builder
	for i := len(shown) - 1; i >= 0; i-- {
		b.WriteString(shown[i])
	}
	if all, err := r.Changes(Span{}); err == nil && all.Dropped > 0 {
		fmt.Fprintf(&b, "[%d older changes are no longer kept and cannot be undone]\n", all.Dropped)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// undoneNow returns the checkpoints whose changes have been taken back.
func (r *Recorder) undoneNow() map[int]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.undone()
}

// summary names the files of a checkpoint.
func (c *Changes) summary(mark *Checkpoint, undone bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Checkpoint %d", mark.ID)
	if title := oneLine(mark.Title); title != "" {
		fmt.Fprintf(&b, " (%s)", title)
	}
	if undone {
		b.WriteString(", undone")
	}
	b.WriteString(":\n")
	for i := range c.Files {
		if i == maxNamed {
			fmt.Fprintf(&b, "  [%d more files]\n", len(c.Files)-i)
			break
		}
		b.WriteString("  " + c.Files[i].summary() + "\n")
	}
	if n := len(c.Commands); n > 0 {
		fmt.Fprintf(
			&b, "  [commands ran; what they changed is not recorded: %s]\n",
			oneLine(c.Commands[n-1].Title)+more(n-1),
		)
	}
	return b.String()
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// summary says in one line what became of a file.
func (f *FileChange) summary() string {
	line := fmt.Sprintf("%s %s", f.Kind, f.Name)
	switch inserted, deleted := 0, 0; {
	case !f.Kept:
		line += ", contents not kept: cannot be undone"
	default:
		for _, s := range f.segments {
			i, d := linediff.Count(linediff.Hunks(string(s.beforeData), string(s.afterData), 0))
			inserted, deleted = inserted+i, deleted+d
		}
		line += fmt.Sprintf(" (+%d -%d)", inserted, deleted)
	}
	if f.Others {
		line += ", also changed by someone else in between"
	}
	if f.Unsure {
		line += ", not sure that it was written"
	}
	return line
}

// oneLine shortens a title.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > 80 {
		s = string(runes[:79]) + "…"
	}
	return s
}

// showChanges shows the diff of a checkpoint.
func (r *Recorder) showChanges(ctx context.Context, in listChangesArgs) (string, error) {
	c, err := r.Changes(Only(in.Checkpoint))
	if errors.Is(err, ErrNoCheckpoint) {
		return "", toolset.Failed(
			"Unknown checkpoint %d. Call %s without arguments to list checkpoints.", in.Checkpoint,
			ToolListChanges,
		)
	}
	if err != nil {
		return "", err
	}
	if in.Path != "" {
		at, err := workspace.LocateIn(r, in.Path)
		if err != nil {
			return "", toolset.Failed("The path %q is malformed or lies outside of the working directory.", in.Path)
		}
		file := r.style.Fold(workspace.Follow(ctx, r.workspace, at.Path)) // as changes are recorded
		var kept []FileChange
		for _, f := range c.Files {
			if name := r.style.Fold(f.Path); name == file || name == r.style.Fold(at.Path) {
				kept = append(kept, f)
			}
		}
		c.Files = kept
	}
	if len(c.Files) == 0 {
		return "No changes were recorded there.", nil
	}
	var b strings.Builder
	for i := range c.Files {
		diff := c.Files[i].Diff()
		if r.hides(ctx, c.Files[i].Path) {
			diff = fmt.Sprintf("[%s: its contents must not be shown]\n", c.Files[i].Name)
		}
		if left := maxDiff - b.Len(); len(diff) > left && i > 0 {
			fmt.Fprintf(
				&b, "[%d more files. Call %s with checkpoint %d and path to see one, such as %s.]",
				len(c.Files)-i, ToolListChanges, in.Checkpoint, c.Files[i].Name,
			)
			break
		} else if len(diff) > left {
			end := strings.LastIndexByte(diff[:left], '\n') + 1
			fmt.Fprintf(
				&b, "%s[Cut here: %d more bytes of this file's diff.]\n",
				strings.ToValidUTF8(diff[:end], ""), len(diff)-end,
			)
			continue
		}
		b.WriteString(diff)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
