// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/internal/linediff"
)

// Difference is the first thing that an agent does otherwise than in the session.
type Difference struct {
	// Turn and Step locate it, counted from 1. Step 0 is before the first request.
	Turn, Step int
	// What names the part that differs. Recorded has its form in the session, Now the present one.
	What          string
	Recorded, Now string
}

// Error shows the difference by lines.
func (d *Difference) Error() string {
	text := fmt.Sprintf("replay: turn %d, step %d: %s", d.Turn, d.Step, hide.Controls(d.What))
	return text + d.lines()
}

// Any marks a text in a recording that is not compared. It covers at least one character, and
// ends before a line break.
const Any = "‹any›"

// leftOut is the data of media that were left out.
const leftOut = "left out"

func differ(what, recorded, now string) *Difference {
	return &Difference{What: what, Recorded: recorded, Now: now}
}

// differText compares texts.
func differText(what, recorded, now string) *Difference {
	if matches(recorded, now) {
		return nil
	}
	return differ(what, recorded, now)
}

// matches reports whether a text is the recorded one. A mark in the recording matches any text, and
// [Any] any text within a line.
func matches(recorded, now string) bool {
	if recorded == now {
		return true
	}
	gaps := marks.FindAllStringIndex(recorded, -1)
	if gaps == nil || !strings.HasPrefix(now, recorded[:gaps[0][0]]) {
		return false
	}
	now = now[gaps[0][0]:]
	for i, gap := range gaps {
		end := len(recorded)
		if i+1 < len(gaps) {
			end = gaps[i+1][0]
		}
		text := recorded[gap[1]:end]
		line := now
		if recorded[gap[0]:gap[1]] == Any {
			line, _, _ = strings.Cut(now, "\n")
		}
		at := -1
		switch last := i+1 == len(gaps); {
		case now == "":
		case last && len(now) > len(text) && strings.HasSuffix(now, text):
			at = len(now) - len(text)
		case !last:
			if at = strings.Index(now[1:], text); at >= 0 {
				at++
			}
		}
		if at < 0 || at > len(line) {
			return false
		}
		now = now[at+len(text):]
	}
	return true
}

// withGaps returns the lines of a text, with [Any] in the place of those that are not the
// session's.
func withGaps(recorded, now string) string {
	lines := strings.Split(now, "\n")
	known := map[string]int{}
	for _, line := range strings.Split(recorded, "\n") {
		known[line]++
	}
	for i, line := range lines {
		if known[line] > 0 {
			known[line]--
		} else if line != "" {
			lines[i] = Any
		}
	}
	return strings.Join(lines, "\n")
}

// lines shows what differs: by lines, or from shortly before the first difference in one line.
func (d *Difference) lines() string {
	if strings.Contains(d.Recorded, "\n") || strings.Contains(d.Now, "\n") {
		text := linediff.Unified("recorded", "now", d.Recorded+"\n", d.Now+"\n")
		return "\n" + hide.Controls(text)
	}
	a, b := []rune(d.Recorded), []rune(d.Now)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return "\n-" + excerpt(a, same) + "\n+" + excerpt(b, same) + "\n"
}

func excerpt(text []rune, at int) string {
	const before, behind = 60, 200
	from, to := max(0, at-before), min(len(text), at+behind)
	shown := hide.Controls(string(text[from:to]))
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(text) {
		shown += "…"
	}
	return shown
}
