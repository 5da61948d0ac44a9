// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"os"
	"strconv"
)

// Memory returns the resident memory of the command and its descendants, in bytes. Pages that they
// share count once for each. It is 0 if it is not known.
func (p *Process) Memory() int64 {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	type process struct {
		parent int
		pages  int64
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name, in parentheses, may have any character.
		fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		all[pid] = process{parent, pages}
	}
	var total int64
	for pid, found := range all {
		for at, steps := pid, 0; at > 1 && steps < 100; at, steps = all[at].parent, steps+1 {
			if at == p.Pid() {
				total += found.pages
				break
			}
		}
	}
	return total * int64(os.Getpagesize())
}
