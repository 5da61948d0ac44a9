// SPDX-License-Identifier: Apache-2.0

package openaidialect

import (
	"bytes"
	"io"

	"github.com/ponte-go/ponte/internal/adapter"
)

// maxEvent limits the size of one event of a stream, in bytes.
const maxEvent = 16 << 20

// cleanStream is a stream of events without what the SDK takes for chunks or cannot read: events
// without data, pings of proxies, other ends of lines.
type cleanStream struct {
	io.Closer
	events *adapter.EventReader
	rest   []byte // of the event that is being read
}

func clean(body io.ReadCloser) io.ReadCloser {
	return &cleanStream{Closer: body, events: adapter.NewEventReader(body, maxEvent)}
}

// Read reads events, each with its data in one line.
func (c *cleanStream) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		event, err := c.events.Next()
		if err != nil {
			return 0, err
		}
		data := bytes.TrimSpace(event.Data)
		if len(data) == 0 || event.Foreign(`"choices"`, `"error"`) {
			continue
		}
		c.rest = c.rest[:0]
		if event.Name == "error" {
			c.rest = append(c.rest, "event: error\n"...)
		}
		c.rest = append(append(c.rest, "data: "...), bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})...)
		c.rest = append(c.rest, "\n\n"...)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
