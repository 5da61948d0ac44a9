// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// takeFiles fills in what files held when each turn began. The contents of a file
// before its first change count for the turns before, too.
func (m *maker) takeFiles(r *checkpoint.Recorder) {
	if r == nil {
		return
	}
	log := r.Log()
	begins := map[string]int{} // checkpoints, by turn
	for _, c := range log.Checkpoints {
		if c.Turn != "" {
			begins[c.Turn] = c.ID
		}
	}
	unknown := map[string]bool{}
	for i := range m.Turns {
		t := &m.Turns[i]
		begin, ok := begins[t.ID]
		if !ok {
			continue
		}
		states := map[string]checkpoint.State{}
		for _, c := range log.Changes {
			if c.Checkpoint < begin {
				states[c.Path] = c.After
			} else if _, ok := states[c.Path]; !ok {
				states[c.Path] = c.Before
			}
		}
		for _, path := range slices.Sorted(maps.Keys(states)) {
			s := states[path]
			if s.Absent {
				continue
			}
			data, ok := r.Content(s.Hash)
			if !ok {
				unknown[path] = true
				continue
			}
			t.Files = append(t.Files, m.file(path, s.Hash, data))
		}
	}
	if len(unknown) > 0 {
		m.note("Left out: files whose contents were not kept: %q.",
			slices.Sorted(maps.Keys(unknown)))
	}
	if n := len(log.Commands); n > 0 {
		m.note("Not in the files: what the %d commands of the session changed.", n)
	}
}

// file returns the index of what a file held.
func (m *maker) file(path, hash string, data []byte) int {
	key := path + "\x00" + hash
	at, ok := m.files[key]
	if ok {
		return at
	}
	f := File{Path: path, Text: string(data)}
	if !utf8.Valid(data) {
		f = File{Path: path, Data: data}
	}
	at = len(m.Files)
	m.files[key], m.Files = at, append(m.Files, f)
	return at
}
