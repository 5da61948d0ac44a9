// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// contents keeps what files held, by hash.
type contents struct {
	max, size int64
	byHash    map[string]*content
}

type content struct {
	data []byte
	uses int
}

// hashOf identifies contents: "sha256:" and the hash in hexadecimal.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// stateOf returns what is known of a file as plain data.
func stateOf(f found) State {
	switch {
	case f.why != "":
		return State{Unknown: f.why}
	case f.absent:
		return State{Absent: true}
	}
	return State{Hash: hashOf(f.data), Size: int64(len(f.data)), Uncertain: f.uncertain}
}

// fits reports whether the contents of a change may be kept. One that is larger than all that is
// kept must not drive out everything else.
func (c *contents) fits(before, after State) bool {
	return before.Size+after.Size <= c.max
}

func (c *contents) add(s State, data []byte) {
	if s.Hash == "" {
		return
	}
	if kept := c.byHash[s.Hash]; kept != nil {
		kept.uses++
		return
	}
	if c.byHash == nil {
		c.byHash = map[string]*content{}
	}
	c.byHash[s.Hash] = &content{data: bytes.Clone(data), uses: 1}
	c.size += int64(len(data))
}

func (c *contents) release(s State) {
	kept := c.byHash[s.Hash]
	if kept == nil {
		return
	}
	if kept.uses--; kept.uses == 0 {
		c.size -= int64(len(kept.data))
		delete(c.byHash, s.Hash)
	}
}

// releaseChange releases the contents of a change.
func (c *contents) releaseChange(change *Change) {
	if !change.kept {
		return
	}
	change.kept = false
	c.release(change.Before)
	c.release(change.After)
}

// recentReads has the last files that were read as a whole or written: a change does not read the
// replaced text again. A file that has a version has the contents that it had with that version.
type recentReads struct{ files []recentRead } // the oldest first

type recentRead struct {
	path    string
	version workspace.Version
	content found
}

const (
	maxRecent      = 4
	maxRecentBytes = 8 << 20
)

func (r *recentReads) put(path string, version workspace.Version, content found) {
	r.files = slices.DeleteFunc(r.files, func(f recentRead) bool { return f.path == path })
	if version == "" || len(content.data) > maxRecentBytes {
		return
	}
	content.data = bytes.Clone(content.data)
	r.files = append(r.files, recentRead{path, version, content})
	total := 0
	for _, f := range r.files {
		total += len(f.content.data)
	}
	for len(r.files) > maxRecent || total > maxRecentBytes {
		total -= len(r.files[0].content.data)
		r.files = slices.Delete(r.files, 0, 1)
	}
}

func (r *recentReads) get(path string, version workspace.Version) (found, bool) {
	for _, f := range r.files {
		if f.path == path && f.version == version {
			return f.content, true
		}
	}
	return found{}, false
}
