package openaimodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxErrorBody bounds what is read of an error's body, in bytes.
const maxErrorBody = 64 << 10

// readError marks an answer that broke off, as opposed to one that makes no sense.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// receive reads an answer of status 200 into a. What the answer is, a stream of events or one object, is told by how
// it begins: there are servers that stream when they were not asked to, that do not when they were, and that mislabel
// either.
func (m *Model) receive(ctx context.Context, resp *http.Response, dog *watchdog, a *assembler) error {
	r := bufio.NewReader(dog)
	first, err := firstByte(r)
	if errors.Is(err, io.EOF) {
		return &readError{io.ErrUnexpectedEOF}
	}
	if err != nil {
		return &readError{err}
	}
	switch first {
	case '{', '[', '<':
		return m.receiveObject(resp, r, a)
	}
	return m.receiveEvents(ctx, resp, dog, r, a)
}

// firstByte returns the first byte that is neither a byte order mark nor white space, which servers send to keep a
// connection alive, and leaves it unread.
func firstByte(r *bufio.Reader) (byte, error) {
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, r.UnreadByte()
		}
	}
}

func (m *Model) receiveObject(resp *http.Response, body io.Reader, a *assembler) error {
	data, err := io.ReadAll(io.LimitReader(body, maxResponse+1))
	if err != nil {
		return &readError{eofIsUnexpected(err)}
	}
	if len(data) > maxResponse {
		return errResponseTooLong
	}
	var w wireResponse
	if err := w.decode(data); err != nil {
		if data[0] == '<' {
			return m.reportedError(resp.StatusCode, resp.Header, data)
		}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) {
			return &readError{io.ErrUnexpectedEOF} // the connection ended where nothing says how long the answer is
		}
		return fmt.Errorf("the answer is no valid JSON: %w", err)
	}
	if err := m.reported(resp, &w, data); err != nil {
		return err
	}
	return a.add(&w)
}

// reported returns the error that an object reports, or nil.
func (m *Model) reported(resp *http.Response, w *wireResponse, data []byte) error {
	if len(w.Error) > 0 {
		return m.reportedError(resp.StatusCode, resp.Header, data)
	}
	if len(w.Choices) == 0 {
		if w.Usage == nil && w.ID == "" {
			if _, _, _, ok := parseErrorBody(data); ok {
				return m.reportedError(resp.StatusCode, resp.Header, data)
			}
		}
		return nil
	}
	if failed := w.Choices[0].Error; len(failed) > 0 {
		return m.reportedError(resp.StatusCode, resp.Header, failed)
	}
	return nil
}

var done = []byte("[DONE]")

// tailTime bounds the wait for what may follow the end of a streamed response: usage, and the mark of the end.
const tailTime = 5 * time.Second

func (m *Model) receiveEvents(ctx context.Context, resp *http.Response, dog *watchdog, body io.Reader, a *assembler) error {
	a.streamed = true
	events := newEventReader(body)
	for {
		ev, err := events.next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return streamEnd(err, a)
		}
		data := bytes.TrimSpace(ev.data)
		switch {
		case len(data) == 0:
			continue
		case bytes.Equal(data, done):
			return nil
		case ev.name == "error":
			return m.reportedError(resp.StatusCode, resp.Header, data)
		}
		var w wireResponse
		if err := w.decode(data); err != nil {
			if ev.atEnd {
				return streamEnd(io.EOF, a)
			}
			return fmt.Errorf("an event of the stream is no valid JSON: %w", err)
		}
		if err := m.reported(resp, &w, data); err != nil {
			return err
		}
		if err := a.add(&w); err != nil {
			return err
		}
		if a.finished {
			dog.idle = tailTime
		}
	}
}

// streamEnd judges a stream that ended, with err, before it said so. If the reason for the end of the response has
// come, nothing but usage can be missing.
func streamEnd(err error, a *assembler) error {
	switch {
	case errors.Is(err, errEventTooLong):
		return err
	case a.finished:
		return nil
	}
	return &readError{eofIsUnexpected(err)}
}

func eofIsUnexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
