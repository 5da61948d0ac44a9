package openaidialect

import (
	"bytes"
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

// Options returns what a plugin must be made with for the dialect to see what the plugin loses: a middleware that adds
// headers to requests, and keeps a copy of answers, of models with this package's dialect. Other requests of the plugin
// pass through it.
func Options() []option.RequestOption {
	return []option.RequestOption{option.WithMiddleware(tapped)}
}

// tap keeps what the provider wrote in answer to one request. The plugin's goroutine writes it; it is read when that
// goroutine has handed over its result.
type tap struct {
	header map[string]string // to add to the request

	seen   bool // the middleware is there
	status int
	answer http.Header
	body   bytes.Buffer
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
		t.status, t.answer = resp.StatusCode, resp.Header
		t.body.Reset()
		resp.Body = &tappedBody{resp.Body, t}
	}
	return resp, err
}

type tappedBody struct {
	io.ReadCloser
	t *tap
}

// Read copies what it reads. A stream that ends without saying so has been cut off, which the SDK takes for its end.
func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.t.body.Write(p[:n])
	if errors.Is(err, io.EOF) && b.t.streamed() && !b.t.ended() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (t *tap) streamed() bool {
	return t.status < 300 && strings.HasPrefix(t.answer.Get("Content-Type"), "text/event-stream")
}

// ended reports whether a stream came to its end: to its end mark, a finish reason, or an error.
func (t *tap) ended() bool {
	body := t.body.Bytes()
	for _, mark := range []string{"[DONE]", `"finish_reason":"`, `"finish_reason": "`, `"error"`} {
		if bytes.Contains(body, []byte(mark)) {
			return true
		}
	}
	return false
}

// finish puts into the message what the plugin lost of the answer.
func (t *tap) finish(c *genkitmodel.Call) func(*ai.ModelResponse, *model.Message) error {
	return func(_ *ai.ModelResponse, msg *model.Message) error {
		if !t.seen {
			if len(t.header) > 0 {
				return c.Unsupported("the setting extra_headers, without openaidialect.Options in the plugin")
			}
			return nil
		}
		w, err := t.read()
		switch {
		case err != nil: // a shape that only the plugin knows
		case !w.hasChoice:
			return t.noChoice(w, nil)
		default:
			w.into(msg, c.Info.Provider)
		}
		return nil
	}
}

// recover makes the message of an answer that was complete but that the plugin could not read, and a better error of a
// refusal that the SDK could not read.
func (t *tap) recover(c *genkitmodel.Call) func(error) (*model.Message, error) {
	return func(err error) (*model.Message, error) {
		if known := (*openai.Error)(nil); errors.As(err, &known) || t.status == 0 {
			return nil, nil
		}
		if t.status >= 300 {
			e := &model.APIError{Err: err, Message: strings.TrimSpace(t.body.String())}
			genkitmodel.FromHTTP(e, t.status, t.answer)
			genkitmodel.Classify(e)
			return nil, e
		}
		w, broken := t.read()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), streamError):
			return nil, nil
		case broken != nil:
			return nil, &model.APIError{
				Status: t.status, Retryable: true, Err: fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err),
				Message: "the answer breaks off or is no chat completion: " + err.Error(),
			}
		case !w.hasChoice:
			return nil, t.noChoice(w, err)
		}
		return &model.Message{}, nil // finish fills it
	}
}

// noChoice is the error for an answer of status 200 with which nothing was answered.
func (t *tap) noChoice(w *wire, cause error) *model.APIError {
	e := &model.APIError{Status: t.status, Err: cause, Message: "the answer has no choice"}
	if w.reported != nil {
		e.Status = 0
		readReported(w.reported, e)
		genkitmodel.Classify(e)
		return e
	}
	e.Retryable = true
	return e
}
