// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"io"

	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/internal/show"
)

// maxStderrLine is the length of a line that is passed on as a whole. A longer one is passed on in
// parts.
const maxStderrLine = 8 << 10

// stderrLines passes on a server's standard error, line by line, for display on a terminal.
type stderrLines struct {
	to      io.Writer
	secrets []string
	line    []byte
}

func (s *stderrLines) add(data []byte) {
	for len(data) > 0 {
		part, rest, ended := bytes.Cut(data, []byte("\n"))
		if room := maxStderrLine - len(s.line); len(part) > room {
			part, rest, ended = data[:room], data[room:], true
		}
		s.line, data = append(s.line, part...), rest
		if ended {
			s.flush()
		}
	}
}

// flush passes on the line as it is now.
func (s *stderrLines) flush() {
	if len(s.line) == 0 {
		return
	}
	text := withoutSecrets(string(bytes.TrimRight(s.line, "\r")), s.secrets)
	s.line = s.line[:0]
	_, _ = io.WriteString(s.to, show.Received(text)+"\n")
}

// withoutSecrets replaces what must not be shown.
func withoutSecrets(text string, secrets []string) string {
	return hide.Replacer("…", secrets...).Replace(text)
}
