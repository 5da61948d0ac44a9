// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

// use calls whatever tool the user names.
func (s *script) use(st step) bool {
	result, ok := s.call(st.tool, "use "+code(st.tool), st.args)
	if !ok {
		return false
	}
	shown, left := head(strings.TrimRight(result, "\n"), 40)
	if shown == "" {
		s.say("I used %s. It said nothing.\n\n", code(st.tool))
		return true
	}
	s.say("I used %s:\n\n%s", code(st.tool), block("", shown))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
	return true
}

// undoCheckpoint matches the note about undo_changes in results.
var undoCheckpoint = lazy.Regexp(`call ` + toolUndo + ` with checkpoint (\d{1,9})`)

func (s *script) undo() bool {
	result, ok := s.call(toolUndo, "undo the last changes", json.RawMessage(`{}`))
	if ok {
		s.say("%s\n\n", undone(result))
	}
	return ok
}

// redo undoes the last undo.
func (s *script) redo() bool {
	if s.turn.undo == "" {
		s.say("There is nothing to redo.\n\n")
		return false
	}
	checkpoint, _ := strconv.Atoi(s.turn.undo)
	result, ok := s.call(toolUndo, "redo the changes", struct {
		Checkpoint int `json:"checkpoint"`
	}{checkpoint})
	if ok {
		s.say("%s\n\n", undone(result))
	}
	return ok
}

// undone describes what an undo did, without the notes for models.
func undone(result string) string {
	var kept []string
	for line := range strings.SplitSeq(result, "\n") {
		if !undoCheckpoint().MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
