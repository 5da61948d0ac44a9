// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ponte-go/ponte/internal/adapter"
)

// maxEvent limits the size of one event of a stream, in bytes.
const maxEvent = 32 << 20

var errNoMessage = errors.New("the response contains no message")

func errorIsEmpty(err error) bool { return errors.Is(err, errNoMessage) }

// wireMessage is an unstreamed response, or the start of a stream. Contents are kept as they are
// written, because they must be sent back unchanged.
type wireMessage struct {
	Type       string            `json:"type"`
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      *wireUsage        `json:"usage"`
	Container  *struct {
		ID string `json:"id"`
	} `json:"container"`
	Error json.RawMessage `json:"error"`
}

// wireEvent has the members of all relevant events. It is decoded by encoding/json, five times
// faster than the SDK's union.
type wireEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      *wireMessage    `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        *wireUsage      `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

// receive reads a response with status 200. Its first bytes decide whether it is a stream of events
// or one object.
func (m *Model) receive(ctx context.Context, resp *http.Response, dog *adapter.Watchdog, a *assembly) error {
	r := bufio.NewReader(resp.Body)
	first, err := adapter.FirstByte(r)
	switch {
	case err != nil:
		return adapter.BrokeOff(err)
	case strings.IndexByte("{[<\"-0123456789", first) >= 0:
		return m.receiveObject(resp, r, a)
	}
	return m.receiveEvents(ctx, resp, r, dog, a)
}

func (m *Model) receiveObject(resp *http.Response, body io.Reader, a *assembly) error {
	data, err := io.ReadAll(io.LimitReader(body, int64(maxResponse)+1))
	if err != nil {
		return adapter.BrokeOff(err)
	}
	if len(data) > maxResponse {
		return errResponseTooLong
	}
	var w wireMessage
	if err := json.Unmarshal(data, &w); err != nil {
		if data[0] != '{' {
			return m.reported(resp.StatusCode, resp.Header, data)
		}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) {
			return adapter.BrokeOff(io.EOF) // the connection ended, and the length of the response is unknown
		}
		return fmt.Errorf("the response is not a valid message: %w", err)
	}
	if w.Type == "error" || len(w.Error) > 0 && string(w.Error) != "null" {
		return m.reported(resp.StatusCode, resp.Header, data)
	}
	switch {
	case w.Content != nil:
	case w.Type == "" && len(bytes.Trim(data, " \t\r\n{}")) > 0: // another protocol's, or a proxy's
		e := m.reported(resp.StatusCode, resp.Header, data)
		e.Retryable = true // as without what it says
		return e
	default:
		return errNoMessage
	}
	return a.whole(&w)
}

func (m *Model) receiveEvents(ctx context.Context, resp *http.Response, body io.Reader, dog *adapter.Watchdog, a *assembly) error {
	dog.Stream(maxEvent)
	events := adapter.NewEventReader(body, maxEvent)
	events.Stray = true
	for {
		event, err := events.Next()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && a.hasStop: // other servers end without message_stop
			return a.end()
		case err != nil:
			if plain := events.Plain(); plain != "" {
				return m.reported(resp.StatusCode, resp.Header, []byte(plain))
			}
			return adapter.BrokeOff(err)
		}
		data := bytes.TrimSpace(event.Data)
		if string(data) == "[DONE]" { // sent by servers that also speak OpenAI's protocol
			continue
		}
		if len(data) == 0 {
			continue
		}
		if event.Name == "error" {
			return m.reported(resp.StatusCode, resp.Header, data)
		}
		var w wireEvent
		if err := json.Unmarshal(data, &w); err != nil {
			switch {
			case event.AtEnd:
				return adapter.BrokeOff(io.EOF)
			case event.Name != "" && !isKnown(event.Name):
				continue
			}
			return fmt.Errorf("an event of the stream is invalid: %w: %s", err, adapter.Truncate(string(data), 200))
		}
		if w.Type == "error" || len(w.Error) > 0 && string(w.Error) != "null" {
			return m.reported(resp.StatusCode, resp.Header, data)
		}
		if isKnown(w.Type) && (w.Type != "message_start" || !a.began) {
			dog.Event()
		}
		done, err := a.event(&w)
		if done || err != nil {
			return err
		}
	}
}

// isKnown reports whether an event belongs to the response, as opposed to pings and what is newer
// than this package.
func isKnown(event string) bool {
	return strings.HasPrefix(event, "message_") || strings.HasPrefix(event, "content_block_")
}
