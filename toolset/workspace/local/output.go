// SPDX-License-Identifier: Apache-2.0

package local

import (
	"slices"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// output keeps the end of what a command writes, and some of the beginning. Positions count from
// the beginning.
type output struct {
	keep int    // how many bytes of the end are kept
	buf  []byte // a ring once it has the length keep
	end  int64  // how many bytes there have been
	head []byte // the beginning, once buf has lost it
}

func (o *output) add(data []byte) {
	if o.head == nil && o.end+int64(len(data)) > int64(o.keep) {
		n := o.keep / 4
		o.head = slices.Clone(o.buf[:min(n, len(o.buf))])
		o.head = append(o.head, data[:n-len(o.head)]...)
	}
	if n := min(o.keep-len(o.buf), len(data)); n > 0 {
		o.buf = append(o.buf, data[:n]...)
		o.end += int64(n)
		data = data[n:]
	}
	if drop := len(data) - o.keep; drop > 0 {
		o.end += int64(drop)
		data = data[drop:]
	}
	// From here on the byte at a position is at the position modulo keep.
	if len(data) == 0 {
		return
	}
	n := copy(o.buf[o.end%int64(o.keep):], data)
	copy(o.buf, data[n:])
	o.end += int64(len(data))
}

// chunk returns what is kept from a position on; a negative one counts from the end. Without a
// limit, that is of the end.
func (o *output) chunk(from int64, limit int) workspace.Chunk {
	back := from < 0
	if back {
		from = max(o.end+from, 0)
	}
	start := o.end - int64(len(o.buf))
	if limit > 0 && !back && from < min(start, int64(len(o.head))) {
		part := o.head[from:]
		part = part[:min(limit, len(part))]
		return workspace.Chunk{From: from, End: o.end, Data: slices.Clone(part)}
	}
	c := workspace.Chunk{From: min(max(from, start), o.end), End: o.end, Lost: from < start}
	n := int(o.end - c.From)
	if limit > 0 {
		n = min(n, limit)
	}
	if n == 0 {
		return c
	}
	at := c.From % int64(o.keep)
	c.Data = make([]byte, n)
	copied := copy(c.Data, o.buf[at:])
	copy(c.Data[copied:], o.buf)
	return c
}
