// SPDX-License-Identifier: Apache-2.0

package openaidialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// Options returns the options that a plugin must be made with, so that the dialect sees what the
// plugin loses. They add a middleware that, for models with this package's dialect, adds headers to
// requests and reads responses together with the SDK. Other requests of the plugin are passed
// through.
func Options() []option.RequestOption {
	return []option.RequestOption{option.WithMiddleware(tapped)}
}

// tap reads what the provider sends in response to one request. It belongs to the plugin's
// goroutine until that has passed on its result.
type tap struct {
	call   *genkitmodel.Call
	header map[string]string // to add to the request

	seen   bool // the middleware is installed
	status int
	answer http.Header
	body   bytes.Buffer // the whole response, or the incomplete line of a stream
	wire   wire
	broken error // why wire cannot be used
}

type tapKey struct{}

func tapped(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	t, _ := req.Context().Value(tapKey{}).(*tap)
	if t == nil {
		return next(req)
	}
	t.seen = true
	for name, value := range t.header {
		req.Header.Set(name, value)
	}
	resp, err := next(req)
	if err == nil {
		t.status, t.answer, t.broken = resp.StatusCode, resp.Header, nil
		t.body.Reset()
		t.wire = wire{}
		if t.streamed() {
			resp.Body = clean(resp.Body)
		}
		resp.Body = &tappedBody{resp.Body, t}
	}
	return resp, err
}

type tappedBody struct {
	io.ReadCloser
	t *tap
}

// Read reads and records. A stream that ends without saying so was cut off. The SDK would take it
// for complete.
func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	t := b.t
	t.body.Write(p[:n])
	if !t.streamed() {
		return n, err
	}
	if failed := t.lines(); failed != nil {
		return 0, failed // the SDK must not see what was read
	}
	if errors.Is(err, io.EOF) && t.broken == nil && !t.wire.ended {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (t *tap) streamed() bool {
	return t.status < 300 && strings.HasPrefix(t.answer.Get("Content-Type"), "text/event-stream")
}

// lines takes the complete lines from the body and emits what they add to the response.
func (t *tap) lines() error {
	for {
		end := bytes.IndexByte(t.body.Bytes(), '\n')
		if end < 0 {
			return nil
		}
		data, ok := bytes.CutPrefix(bytes.TrimSpace(t.body.Next(end+1)), []byte("data:"))
		data = bytes.TrimSpace(data)
		if !ok || t.broken != nil {
			continue
		}
		if string(data) == "[DONE]" {
			t.wire.ended = true
			continue
		}
		var o wireObject
		if t.broken = json.Unmarshal(data, &o); errors.Is(t.broken, errIndex) {
			return t.broken
		} else if t.broken != nil {
			continue // a form that only the plugin knows
		}
		if bytes.HasPrefix(o.Message, []byte{'"'}) && len(o.Choices) == 0 && len(o.Error) == 0 {
			o.Error = bytes.Clone(data)
		}
		for _, piece := range t.wire.add(&o, true) {
			if err := t.call.Emit(piece); err != nil {
				return err
			}
		}
	}
}

// chunk ignores the plugin's chunks if the response was read by the tap.
func (t *tap) chunk(chunk *ai.ModelResponseChunk) error {
	if t.seen && t.broken == nil {
		return nil
	}
	return t.call.EmitChunk(chunk)
}

// complete reads an unstreamed response, and returns an error if wire cannot be used.
func (t *tap) complete() error {
	if t.streamed() {
		if t.broken == nil && !t.wire.ended {
			return fmt.Errorf("the stream has no end: %w", io.ErrUnexpectedEOF)
		}
		return t.broken
	}
	var o wireObject
	if err := json.Unmarshal(t.body.Bytes(), &o); err != nil {
		return err
	}
	t.wire.add(&o, false)
	return nil
}

// finish adds to the message what the plugin lost of the response.
func (t *tap) finish(_ *ai.ModelResponse, msg *model.Message) error {
	switch {
	case !t.seen && len(t.header) > 0:
		return t.call.Unsupported("the setting extra_headers, without openaidialect.Options in the plugin")
	case !t.seen:
		return nil
	case t.wire.hasChoice: // recover has read it
	case t.complete() != nil: // a form that only the plugin knows
		return nil
	}
	if !t.wire.hasChoice || t.streamed() && t.wire.reported != nil { // the SDK does not see every error
		return t.noChoice(nil)
	}
	t.wire.into(msg, t.call.Info.Provider)
	return nil
}

// recover makes a message from a complete response that the plugin could not read, or a better
// error from an error response that the SDK could not read.
func (t *tap) recover(err error) (*model.Message, error) {
	if known := (*openai.Error)(nil); errors.As(err, &known) && known.RawJSON() != "" || t.status == 0 {
		return nil, nil
	}
	if t.status >= 300 {
		e := &model.APIError{Err: err, Message: strings.TrimSpace(t.body.String())}
		genkitmodel.FromHTTP(e, t.status, t.answer)
		genkitmodel.Classify(e)
		return nil, e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), streamError) {
		return nil, nil
	}
	broken := t.complete()
	switch {
	case broken != nil:
		return nil, &model.APIError{
			Status: t.status, Retryable: true, Err: fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err),
			Message: "the response breaks off or is not a chat completion: " + err.Error(),
		}
	case !t.wire.hasChoice:
		return nil, t.noChoice(err)
	}
	return &model.Message{}, nil // finish fills it
}

// noChoice returns the error for a response with status 200 but without a choice, or with an error.
func (t *tap) noChoice(cause error) *model.APIError {
	e := &model.APIError{Status: t.status, Err: cause, Message: "the response has no choice"}
	if t.wire.reported != nil {
		e.Status = 0
		readReported(t.wire.reported, e)
		genkitmodel.Classify(e)
		return e
	}
	e.Retryable = true
	return e
}
