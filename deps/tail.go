// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"fmt"
	"unicode/utf8"
)

// tail keeps the end of a text.
type tail struct {
	data    []byte
	dropped int  // bytes before data
	limit   int  // limit on the length of String
	fresh   bool // changed since the last update
}

// write adds text and keeps at least the last limit bytes. To save copying, it moves memory only
// after twice as many.
func (t *tail) write(text string, limit int) {
	t.fresh = true
	if over := len(text) - limit; over > 0 {
		t.dropped += len(t.data) + over
		t.data, text = t.data[:0], text[over:]
	}
	t.data = append(t.data, text...)
	if over := len(t.data) - limit; over > limit {
		t.dropped += over
		t.data = append(t.data[:0], t.data[over:]...)
	}
	t.limit = limit
}

// String returns the end of the text, with a note if the beginning is missing.
func (t *tail) String() string {
	data, dropped := t.data, t.dropped
	if over := len(data) - t.limit; over > 0 {
		data, dropped = data[over:], dropped+over
	}
	if dropped == 0 {
		return string(data)
	}
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data, dropped = data[1:], dropped+1
	}
	return fmt.Sprintf("[%d bytes omitted]\n%s", dropped, data)
}
