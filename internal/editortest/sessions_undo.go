// SPDX-License-Identifier: Apache-2.0

package editortest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// undoes takes back what the agent did since the mark.
func (s *session) undoes() error {
	before := map[string]string{}
	for name, f := range s.files {
		text, _, _ := s.now(f)
		before[name] = string(text)
	}
	res, err := s.recorder.Undo(s.ctx, checkpoint.Since(s.mark))
	if res == nil {
		return err
	}
	for i := range res.Files {
		u := &res.Files[i]
		if f := s.files[u.Name]; f == nil {
			return fmt.Errorf("the undo knows of %s", u.Path)
		} else if err := s.undone(f, u, before[f.name]); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	s.marks()
	return nil
}

// undone checks a file after an undo. text is its text before it.
func (s *session) undone(f *modelled, u *checkpoint.FileUndo, text string) error {
	after := s.cell.diskOf(f.path)
	switch then := s.then[f.name]; {
	case !u.Done && u.Err != nil && s.editor != nil && s.editor.Lazy:
		if s.editor.Unsaved(f.path) { // it is told that the editor has not saved it
			now, _ := s.editor.Read(f.path)
			f.typed = &now
		}
		return nil
	case !u.Done:
		return nil // which agrees checks
	case !f.foreign && (!bytes.Equal(after, then) || (after == nil) != (then == nil)):
		return fmt.Errorf("it holds %q after the undo, and held %q before",
			short(string(after)), short(string(then)))
	}
	decoded, _ := workspace.DecodeText(after)
	for i := strings.IndexByte(text, ';'); i >= 6; {
		if token := text[i-6 : i+1]; token[0] == 'u' && !bytes.Contains(decoded.Data, []byte(token)) {
			return fmt.Errorf("the user's %q is gone after the undo: %q",
				token, short(string(after)))
		}
		more := strings.IndexByte(text[i+1:], ';')
		if more < 0 {
			break
		}
		i += 1 + more
	}
	s.holds(f, after)
	return nil
}
