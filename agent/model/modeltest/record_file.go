// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// recordingVersion is the version of the files this package writes. It reads all versions up to
// this one.
const recordingVersion = 1

// recording is the content of a file.
type recordedFile struct {
	Info      model.Info
	Exchanges []*exchange
}

// exchange is a request and its outcome: a response, an error, or neither because the caller
// stopped it.
type exchange struct {
	request  *sentRequest
	deltas   []recordedDelta // nil if not streamed
	response *model.Message
	err      *recordedError
	stopped  string
}

// Reasons why a caller stopped an exchange.
const (
	stoppedBySink    = "sink"
	stoppedByContext = "context"
)

type recordingJSON struct {
	Version   int            `json:"version"`
	Model     model.Info     `json:"model"`
	Exchanges []exchangeJSON `json:"exchanges"`
}

type exchangeJSON struct {
	Request  requestJSON     `json:"request"`
	Deltas   []recordedDelta `json:"deltas"`
	Response *model.Message  `json:"response"`
	Error    *recordedError  `json:"error"`
	Stopped  string          `json:"stopped"`
}

// requestJSON is a request in a file. A request that continues an earlier exchange refers to it and
// holds only what is new. Otherwise files would grow with the square of the length of a run.
type requestJSON struct {
	// After is the number of an earlier exchange, starting at 1, whose messages and response
	// precede Messages. 0 means none.
	After int `json:"after,omitempty"`
	// Frame is omitted if it equals that of After.
	Frame    *sentFrame    `json:"frame,omitempty"`
	Messages []sentMessage `json:"messages,omitempty"`
}

// recordedDelta is a delta in a file.
type recordedDelta struct {
	Part   int            `json:"part"`
	Kind   model.PartKind `json:"kind,omitempty"`
	CallID string         `json:"call_id,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Text   string         `json:"text,omitempty"`
	// Bytes is the text if it is not valid UTF-8, for example because a provider split it within a
	// character.
	Bytes []byte       `json:"bytes,omitempty"`
	Usage *model.Usage `json:"usage,omitempty"`
	Whole *model.Part  `json:"whole,omitempty"`
}

func recordDelta(d model.Delta) recordedDelta {
	r := recordedDelta{Part: d.Part, Kind: d.Kind, CallID: d.CallID, Tool: d.Tool, Text: d.Text, Whole: d.Whole}
	if !utf8.ValidString(d.Text) {
		r.Text, r.Bytes = "", []byte(d.Text)
	}
	if d.Usage != nil {
		r.Usage = new(*d.Usage)
	}
	return r
}

func (r *recordedDelta) delta() model.Delta {
	d := model.Delta{Part: r.Part, Kind: r.Kind, CallID: r.CallID, Tool: r.Tool, Text: r.Text + string(r.Bytes), Whole: r.Whole}
	if r.Usage != nil {
		d.Usage = new(*r.Usage)
	}
	return d
}

// encode returns the content of the file: indented JSON with one line per delta.
func (r *recordedFile) encode() ([]byte, error) {
	var b bytes.Buffer
	member := func(depth int, name string, v any) error {
		text, err := marshalJSON(v)
		if err != nil {
			return err
		}
		prefix := "\n" + "        "[:2*depth]
		b.WriteString(prefix + `"` + name + `": `)
		if deltas, ok := v.([]recordedDelta); ok {
			writeDeltas(&b, prefix, deltas)
			return nil
		}
		if err := json.Indent(&b, unescapeHTML(text), prefix[1:], "  "); err != nil {
			return err
		}
		b.WriteByte(',')
		return nil
	}
	b.WriteString("{")
	if err := errors.Join(member(1, "version", recordingVersion), member(1, "model", r.Info)); err != nil {
		return nil, err
	}
	b.WriteString("\n  \"exchanges\": [")
	for i, request := range shareHistory(r.Exchanges) {
		x := r.Exchanges[i]
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    {")
		errs := []error{member(3, "request", request)}
		if x.deltas != nil {
			errs = append(errs, member(3, "deltas", x.deltas))
		}
		switch {
		case x.response != nil:
			errs = append(errs, member(3, "response", x.response))
		case x.err != nil:
			errs = append(errs, member(3, "error", x.err))
		default:
			errs = append(errs, member(3, "stopped", x.stopped))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("exchange %d: %w", i+1, err)
		}
		b.Truncate(b.Len() - 1) // the last comma
		b.WriteString("\n    }")
	}
	b.WriteString("\n  ]\n}\n")
	return b.Bytes(), nil
}

func writeDeltas(b *bytes.Buffer, prefix string, deltas []recordedDelta) {
	b.WriteByte('[')
	for i := range deltas {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(prefix + "  ")
		b.Write(appendJSON(nil, &deltas[i]))
	}
	b.WriteString(prefix + "],")
}

// shareHistory returns the requests of exchanges in the form in which a file holds them.
func shareHistory(exchanges []*exchange) []requestJSON {
	requests := make([]requestJSON, len(exchanges))
	asked := make([][]string, len(exchanges)) // the messages of each request
	known := make([][]string, len(exchanges)) // the same, followed by the response
	for i, x := range exchanges {
		for _, m := range x.request.Messages {
			asked[i] = append(asked[i], string(appendJSON(nil, m)))
		}
		known[i] = slices.Clip(asked[i])
		if x.response != nil {
			known[i] = append(known[i], string(appendJSON(nil, x.answer())))
		}
		best := -1
		for j := range i {
			if n := len(known[j]); n > 0 && n <= len(asked[i]) && slices.Equal(known[j], asked[i][:n]) && (best < 0 || n >= len(known[best])) {
				best = j
			}
		}
		requests[i] = requestJSON{Frame: x.request.Frame, Messages: x.request.Messages}
		if best >= 0 {
			requests[i].After, requests[i].Messages = best+1, x.request.Messages[len(known[best]):]
			if bytes.Equal(appendJSON(nil, x.request.Frame), appendJSON(nil, exchanges[best].request.Frame)) {
				requests[i].Frame = nil
			}
		}
	}
	return requests
}

// answer returns the response in the form in which a later request contains it.
func (x *exchange) answer() sentMessage {
	s := &sentRequest{Messages: []sentMessage{sentMessageOf(x.response)}}
	if normal, err := s.normal(); err == nil {
		s = normal
	}
	return s.Messages[0]
}

// decodeRecording reads a file.
func decodeRecording(data []byte) (*recordedFile, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.Version < 1 || version.Version > recordingVersion {
		return nil, fmt.Errorf("file has version %d, this program reads up to %d", version.Version, recordingVersion)
	}
	var file recordingJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	r := &recordedFile{Info: model.Info(file.Model)}
	for i := range file.Exchanges {
		x, err := file.Exchanges[i].decode(r.Exchanges)
		if err != nil {
			return nil, fmt.Errorf("exchange %d: %w", i+1, err)
		}
		r.Exchanges = append(r.Exchanges, x)
	}
	return r, nil
}

func (j *exchangeJSON) decode(before []*exchange) (*exchange, error) {
	x := &exchange{
		request: &sentRequest{Frame: j.Request.Frame, Messages: j.Request.Messages},
		deltas:  j.Deltas, response: j.Response, err: j.Error, stopped: j.Stopped,
	}
	if after := j.Request.After; after != 0 {
		if after < 0 || after > len(before) {
			return nil, fmt.Errorf("follows exchange %d, which does not precede it", after)
		}
		base := before[after-1]
		if x.request.Frame == nil {
			x.request.Frame = base.request.Frame
		}
		messages := slices.Clone(base.request.Messages)
		if base.response != nil {
			messages = append(messages, base.answer())
		}
		x.request.Messages = append(messages, x.request.Messages...)
	}
	if x.request.Frame == nil {
		x.request.Frame = &sentFrame{}
	}
	outcomes := 0
	for _, has := range []bool{x.response != nil, x.err != nil, x.stopped != ""} {
		if has {
			outcomes++
		}
	}
	if outcomes != 1 {
		return nil, errors.New("must have one of response, error and stopped")
	}
	if x.response != nil && x.response.Kind != model.KindResponse {
		return nil, errors.New("response is a request")
	}
	if x.stopped != "" && x.stopped != stoppedBySink && x.stopped != stoppedByContext {
		return nil, fmt.Errorf("stopped by %q, which is unknown", x.stopped)
	}
	if x.err != nil {
		if err := x.err.check(); err != nil {
			return nil, err
		}
	}
	var err error
	x.request, err = x.request.normal()
	return x, err
}
