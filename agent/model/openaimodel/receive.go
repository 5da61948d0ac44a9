// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// receive reads a response with status 200 into c. Its first bytes decide whether it is a stream of
// events or one object, because some servers stream unasked, do not stream when asked, or send a
// wrong content type.
func (m *endpoint) receive(ctx context.Context, resp *http.Response, body io.Reader, dog *adapter.Watchdog, c collector) error {
	r := bufio.NewReader(body)
	first, err := adapter.FirstByte(r)
	if err != nil {
		return adapter.BrokeOff(err)
	}
	switch first {
	case '{', '[', '<':
		return m.receiveObject(resp, r, c)
	}
	return m.receiveEvents(ctx, resp, r, dog, c)
}

func (m *endpoint) receiveObject(resp *http.Response, body io.Reader, c collector) error {
	data, err := io.ReadAll(io.LimitReader(body, maxResponse+1))
	if err != nil {
		return adapter.BrokeOff(err)
	}
	if len(data) > maxResponse {
		return errResponseTooLong
	}
	err = c.object(data)
	if syntax := (*json.SyntaxError)(nil); errs.As(err, &syntax) {
		if data[0] == '<' {
			return m.errorOf(resp, data)
		}
		if syntax.Offset >= int64(len(data)) {
			return adapter.BrokeOff(io.EOF) // the connection ended, and the length of the response is unknown
		}
		return errs.Errorf("the response is not valid JSON: %w", err)
	}
	return err
}

// maxEvent limits the size of one event of a stream, in bytes.
const maxEvent = 16 << 20

// tailTime limits the wait for what may follow the end of a streamed response: usage and the end
// marker.
const tailTime = 5 * time.Second

func (m *endpoint) receiveEvents(ctx context.Context, resp *http.Response, body io.Reader, dog *adapter.Watchdog, c collector) error {
	tail := tailTime
	if idle := m.timeouts.Idle; idle > 0 {
		tail = min(tail, idle)
	}
	events := adapter.NewEventReader(body, maxEvent)
	events.Stray = true
	dog.Stream(maxEvent)
	for {
		ev, err := events.Next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if plain := events.Plain(); plain != "" {
				return m.errorOf(resp, []byte(plain))
			}
			return streamEnd(err, c)
		}
		data := bytes.TrimSpace(ev.Data)
		if len(data) == 0 || ev.Foreign("response.", `"choices"`, `"error"`) {
			continue
		}
		err = c.event(ev.Name, data)
		syntax := (*json.SyntaxError)(nil)
		switch {
		case err == nil:
			dog.Event()
		case err == errKeepAlive:
		case errors.Is(err, io.EOF):
			return nil
		case errs.As(err, &syntax):
			if ev.AtEnd {
				return streamEnd(io.EOF, c)
			}
			return errs.Errorf("an event of the stream is not valid JSON: %w: %s", err, quoted(data))
		default:
			return err
		}
		if c.finished() {
			dog.SetIdle(tail)
		}
	}
}

// streamEnd checks a stream that ended, with err, without saying so. If the finish reason has been
// received, only usage can be missing.
func streamEnd(err error, c collector) error {
	if c.finished() {
		return nil
	}
	return adapter.BrokeOff(err)
}
