// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxHeader bounds the header of a message.
const maxHeader = 4 << 10

// reader reads messages: a header with a Content-Length, an empty line, and that many bytes.
type reader struct {
	*bufio.Reader
	max int
}

func newReader(r io.Reader, limit int) *reader {
	return &reader{bufio.NewReaderSize(r, 64<<10), limit}
}

// next returns the body of the next message. The error io.EOF means that the stream has ended
// between two messages.
func (r *reader) next() ([]byte, error) {
	length, size := -1, 0
	for {
		line, err := r.line(maxHeader - size)
		if err != nil {
			if err == io.EOF && size > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		size += len(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf(
				"it has sent %q where the header of a message belongs",
				head(line),
			)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 {
			return nil, fmt.Errorf("it has sent a malformed Content-Length %q", head(value))
		}
	}
	switch {
	case length < 0:
		return nil, errors.New("it has sent a message without Content-Length")
	case length > r.max:
		return nil, fmt.Errorf(
			"it has sent a message of %d bytes; at most %d are accepted", length, r.max,
		)
	}
	// The body grows with what is there, not with what the header promises.
	body, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err == nil && len(body) < length {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

func (r *reader) line(limit int) (string, error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		b.Write(part)
		switch {
		case b.Len() > limit:
			return "", errors.New("it has sent a header that is too long")
		case err == nil:
			return b.String(), nil
		case err == io.EOF && b.Len() > 0:
			return "", fmt.Errorf("it has ended with %q", head(b.String()))
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

func head(text string) string { return text[:min(len(text), 80)] }
