// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// sessionEmpty reports whether nothing is left of a session but its watcher. known is false if that cannot be told. It takes a fraction of
// the time that the watcher takes for it.
func sessionEmpty(session, watcher int) (empty, known bool) {
	// A process can hide from one scan, if it forks and exits in the middle of it.
	for i := range 3 {
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		if empty, known := scanSession(strconv.Itoa(session), strconv.Itoa(watcher)); !empty || !known {
			return false, known
		}
	}
	return true, true
}

// scanSession looks once.
func scanSession(session, watcher string) (empty, known bool) {
	proc, err := os.Open("/proc")
	if err != nil {
		return false, false
	}
	names, err := proc.Readdirnames(-1)
	proc.Close()
	if err != nil {
		return false, false
	}
	empty = true
	for _, pid := range names {
		if pid[0] < '0' || pid[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue // it has ended
		}
		if pid == watcher {
			known = true
			continue
		}
		// What follows the name, which is in parentheses: the state, parent, group and session, and later the number of threads.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 18 || string(fields[3]) != session {
			continue
		}
		dead := fields[0][0] == 'X' || fields[0][0] == 'Z' && string(fields[17]) == "1"
		empty = empty && dead
	}
	return empty, known
}
