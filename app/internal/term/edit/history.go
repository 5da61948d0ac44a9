// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxHistory is how many prompts are kept.
const maxHistory = 1000

// History holds earlier entries, the oldest first. The zero value is empty and kept in memory only.
type History struct {
	all   []string
	file  string
	at    int // counted from the end; 0 is the draft
	draft string
}

// OpenHistory reads a history from a file, which [History.Add] appends to. A file that does not
// exist or is broken is an empty history.
func OpenHistory(file string) *History {
	h := &History{file: file}
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer f.Close()
	for lines := bufio.NewReader(f); err == nil; {
		var line []byte
		var one string
		if line, err = lines.ReadBytes('\n'); json.Unmarshal(line, &one) == nil {
			h.push(one)
		}
	}
	return h
}

func (h *History) push(s string) bool {
	if n := len(h.all); strings.TrimSpace(s) == "" || n > 0 && h.all[n-1] == s {
		return false
	}
	if h.all = append(h.all, s); len(h.all) > maxHistory {
		h.all = slices.Delete(h.all, 0, len(h.all)-maxHistory)
	}
	return true
}

// Add adds what was entered, and goes to the end of the history.
func (h *History) Add(s string) {
	h.at, h.draft = 0, ""
	if !h.push(s) || h.file == "" {
		return
	}
	line, err := json.Marshal(s)
	if err != nil || os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	// A history that cannot be written is not worth an error.
	if f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.Write(append(line, '\n'))
		_ = f.Close()
	}
}

// Step returns the entry before or after the one at hand, of those that begin with what was typed.
// now is the text as it is.
func (h *History) Step(n int, now string) (string, bool) {
	if h.at == 0 {
		h.draft = now
	}
	for at := h.at - n; at >= 0 && at <= len(h.all); at -= n {
		if at == 0 {
			h.at = 0
			return h.draft, true
		}
		if one := h.all[len(h.all)-at]; strings.HasPrefix(one, h.draft) && one != now {
			h.at = at
			return one, true
		}
	}
	return "", false
}

// Search returns the entry before the one at hand that contains what was typed. now is the text as
// it is.
func (h *History) Search(now string) (string, bool) {
	if h.at == 0 {
		h.draft = now
	}
	for at := h.at + 1; at <= len(h.all); at++ {
		if one := h.all[len(h.all)-at]; strings.Contains(one, h.draft) && one != now {
			h.at = at
			return one, true
		}
	}
	return "", false
}

// Leave is called when the text was edited: it becomes the draft.
func (h *History) Leave() { h.at = 0 }
