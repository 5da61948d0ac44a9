package openaimodel

import (
	"io"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Event is an event as tests see it.
type Event struct{ Name, Data string }

// ReadEvents returns the events in r and the error that ended them; limit bounds an event if it is not 0.
func ReadEvents(r io.Reader, limit int) ([]Event, error) {
	e := newEventReader(r)
	if limit > 0 {
		e.limit = limit
	}
	var events []Event
	for {
		ev, err := e.next()
		if err != nil {
			return events, err
		}
		events = append(events, Event{ev.name, string(ev.data)})
	}
}

// ParseErrorBody exposes the parser of error bodies.
var ParseErrorBody = parseErrorBody

// RequestBody returns the body that m would send.
func RequestBody(m *Model, req *model.Request, stream bool) ([]byte, error) {
	return m.appendRequest(req, m.settings.Merge(req.Settings), stream)
}

// AppendJSONString exposes the string encoder.
func AppendJSONString(dst []byte, s string) []byte { return adapter.AppendJSONString(dst, s) }
