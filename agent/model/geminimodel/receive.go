// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ponte-go/ponte/internal/adapter"
)

// maxErrorBody limits how much of an error response is read, in bytes.
const maxErrorBody = 64 << 10

// maxEvent limits the size of one event of a stream, in bytes. An image is sent in one event.
const maxEvent = 64 << 20

// tailTime limits the wait for what may follow the end of a streamed response.
const tailTime = 5 * time.Second

// receiveWhole reads an unstreamed response with status 200 into a.
func (m *Model) receiveWhole(resp *http.Response, body io.Reader, a *assembler) error {
	data, err := io.ReadAll(io.LimitReader(body, int64(maxResponse)+1))
	switch {
	case err != nil:
		return adapter.BrokeOff(err)
	case len(data) > maxResponse:
		return errResponseTooLong
	case len(data) == 0:
		return adapter.BrokeOff(io.EOF)
	}
	return m.take(resp, data, true, a)
}

// receiveStream reads a stream of events into a. The stream is complete once it has a finish
// reason. It ends with the connection.
func (m *Model) receiveStream(ctx context.Context, resp *http.Response, body io.Reader, dog *adapter.Watchdog, a *assembler) error {
	events := adapter.NewEventReader(body, maxEvent)
	events.Stray = true
	dog.Stream(maxEvent)
	for {
		event, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && a.finished:
			return nil
		case err != nil:
			if plain := events.Plain(); plain != "" {
				return m.reportedError(resp.StatusCode, resp.Header, []byte(plain))
			}
			return adapter.BrokeOff(err)
		}
		data := bytes.TrimSpace(event.Data)
		if len(data) == 0 || event.Foreign(`"candidates"`, `"error"`) || string(data) == "[DONE]" {
			continue
		}
		before := a.chunks
		if err := m.take(resp, event.Data, event.AtEnd, a); err != nil {
			return err
		}
		if a.chunks > before {
			dog.Event()
		}
		if a.finished {
			dog.SetIdle(tailTime)
		}
	}
}

// take adds a response or a chunk. atEnd reports that data may be incomplete.
func (m *Model) take(resp *http.Response, data []byte, atEnd bool, a *assembler) error {
	chunks, err := decode(data)
	switch {
	case err != nil && atEnd && cutShort(data, err):
		return adapter.BrokeOff(io.EOF)
	case err != nil && a.chunks == 0 && !isJSON(data):
		return m.reportedError(resp.StatusCode, resp.Header, data)
	case err != nil:
		return fmt.Errorf("the response is not valid for the API: %w", err)
	}
	for i := range chunks {
		if failure := chunks[i].Error; len(failure) > 0 && string(failure) != "null" {
			return m.reportedError(resp.StatusCode, resp.Header, data)
		}
		if err := a.add(&chunks[i]); err != nil {
			return err
		}
	}
	if atEnd && a.chunks == 0 && isForeign(data) {
		e := m.reportedError(resp.StatusCode, resp.Header, data)
		e.Retryable = true // as without what it says
		return e
	}
	return nil
}

// isJSON reports whether data begins as an object or a list does.
func isJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// isForeign reports whether an answer without candidates says something of its own, as proxies do.
func isForeign(data []byte) bool {
	says := bytes.Trim(data, " \t\r\n[]{}\ufeff")
	return len(says) > 0 && !bytes.Contains(says, []byte(`"candidates"`))
}
