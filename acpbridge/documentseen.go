// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// seenFiles remembers the files that were looked at: the last few as a whole, and of many what the
// editor had of them. It is safe for concurrent use.
type seenFiles struct {
	mu     sync.Mutex
	recent []seenDocument // the oldest first
	views  map[string]viewed
	kinds  map[fileKind]string // how the editor shows files of a kind: why changes of them bypass it, or empty
}

// fileKind lists the properties of a file that editors may lose.
type fileKind struct {
	encoding           string
	crlf, cr, bom, nul bool
}

func kindOf(data []byte) fileKind {
	k := fileKind{bom: bytes.HasPrefix(data, []byte("\ufeff")), nul: bytes.IndexByte(data, 0) >= 0, crlf: bytes.Contains(data, []byte("\r\n"))}
	k.cr = bytes.Count(data, []byte{'\r'}) > bytes.Count(data, []byte("\r\n"))
	if text, ok := ws.DecodeText(data); !ok {
		k.encoding = "none"
	} else if text.Encoding != ws.UTF8 {
		k.encoding = text.Encoding
	}
	return k
}

// kind returns why changes of contents like these bypass the editor, empty if they do not. It is
// known for plain text, which every editor shows as it is, and for kinds of which a file was looked
// at. A change finds out whether it holds.
func (s *seenFiles) kind(data []byte) (bypass string, known bool) {
	k := kindOf(data)
	if k == (fileKind{}) {
		return "", true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	bypass, known = s.kinds[k]
	return bypass, known
}

// learn remembers how the editor shows files like this one. The caller holds mu.
func (s *seenFiles) learn(doc *ws.Document) {
	if !doc.Disk.Exists || !doc.Buffer.Exists || doc.Unsaved || doc.Faithful == ws.FaithUnknown {
		return
	}
	if s.kinds == nil {
		s.kinds = map[fileKind]string{}
	}
	s.kinds[kindOf(doc.Disk.Data)] = doc.Bypass
}

type seenDocument struct {
	path string
	doc  *ws.Document
}

// viewed identifies the text that an editor had of a file.
type viewed struct {
	sum   [sha256.Size]byte
	saved bool // it belonged to what was on disk
	ours  bool // the agent has written it
}

const (
	maxSeen      = 4
	maxSeenBytes = 8 << 20
	maxViews     = 4096
)

// put remembers a document of a path without links.
func (s *seenFiles) put(path string, doc *ws.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = slices.DeleteFunc(s.recent, func(d seenDocument) bool { return d.path == path })
	if size(doc) <= maxSeenBytes {
		s.recent = append(s.recent, seenDocument{path, doc})
	}
	total := 0
	for _, d := range s.recent {
		total += size(d.doc)
	}
	for len(s.recent) > maxSeen || total > maxSeenBytes {
		total -= size(s.recent[0].doc)
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	if doc.Buffer == nil || doc.Disk == nil {
		return
	}
	s.learn(doc)
	if s.views == nil || len(s.views) >= maxViews {
		s.views = map[string]viewed{}
	}
	s.views[path] = viewed{sum: sha256.Sum256(doc.Buffer.Data), saved: !doc.Unsaved}
}

// wrote remembers what an editor has after data was written through it.
func (s *seenFiles) wrote(path string, doc *ws.Document, data []byte) {
	s.put(path, doc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views == nil {
		s.views = map[string]viewed{}
	}
	now := doc.Current().Data
	s.views[path] = viewed{sha256.Sum256(now), !doc.Unsaved, bytes.Equal(now, data)}
}

// ours reports whether the text that an editor has was written by the agent.
func (s *seenFiles) ours(path string, text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[path]
	return ok && v.ours && v.sum == sha256.Sum256(text)
}

func size(doc *ws.Document) (n int) {
	for _, side := range []*ws.Side{doc.Disk, doc.Buffer} {
		if side != nil {
			n += len(side.Data)
		}
	}
	return n
}

// get returns the last document of a path, nil if it is not kept.
func (s *seenFiles) get(path string) *ws.Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.recent {
		if d.path == path {
			return d.doc
		}
	}
	return nil
}

// outdated reports whether an editor still has a text that once was the file on disk. Then the disk
// has changed, and the user has not typed.
func (s *seenFiles) outdated(path string, text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[path]
	return ok && v.saved && v.sum == sha256.Sum256(text)
}

// otherwise reports whether an editor is known to have had other text of a file than what is on
// disk.
func (s *seenFiles) otherwise(path string, disk *ws.Side) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[path]
	return ok && v.sum != sha256.Sum256(disk.Data)
}
