// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"fmt"
	"io"
	"os"
	"time"
)

// ProgressLine returns a function for [Options.Progress] that shows in one line of a terminal how
// many trials have ended, how many of them failed, what they have cost so far, and how much time is
// left. It returns nil, which shows nothing, if f is not a terminal.
func ProgressLine(f *os.File) func(Progress) {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return progressLine(f)
}

// progressLine draws the line again and again. After the last trial it stays.
func progressLine(w io.Writer) func(Progress) {
	bad := map[Status]int{}
	return func(p Progress) {
		line := fmt.Sprintf("%d of %d trials", p.Done, p.Total)
		if bad[p.Status]++; bad[StatusFailed] > 0 {
			line += fmt.Sprintf(", %d failed", bad[StatusFailed])
		}
		if n := bad[StatusUnavailable]; n > 0 {
			line += fmt.Sprintf(", %d unavailable", n)
		}
		line += fmt.Sprintf(", %d requests", p.Usage.Requests)
		if p.Usage.Cost > 0 {
			line += fmt.Sprintf(", cost %.4f", p.Usage.Cost)
		}
		end := ""
		if p.Done < p.Total {
			line += fmt.Sprintf(", %v left", p.Left.Round(time.Second))
		} else {
			line += fmt.Sprintf(", %v", p.Elapsed.Round(time.Second))
			end = "\n"
		}
		_, _ = fmt.Fprintf(w, "\r\x1b[K%s%s", line, end)
	}
}
