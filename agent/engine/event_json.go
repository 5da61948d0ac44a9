// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// EventVersion is the version of the JSON form of events that this package writes. New kinds and new fields do not change the
// version. It changes only if a program that knows an older version would misunderstand an event.
const EventVersion = 1

// ErrEventVersion is the identity of the error for an event of a newer version than [EventVersion].
var ErrEventVersion = errors.New("event version is newer than this program")

// Nested is an event of an inner run. It is the value of an [EventCustom] of the outer run, whose CallID and Tool identify
// the tool call that runs the inner agent.
type Nested struct {
	// Agent is the inner agent's name.
	Agent string `json:"agent,omitempty"`
	// HandOver is set if the outer run was handed over to the agent, whose text then goes to the
	// user.
	HandOver bool  `json:"hand_over,omitempty"`
	Event    Event `json:"event"`
}

// OpaqueValue replaces the value of an event that was read from JSON if the value could not be
// written as JSON.
type OpaqueValue struct {
	// Type is the name of the value's Go type.
	Type string
}

// eventFields has the fields of Event and none of its methods.
type eventFields Event

// eventJSON is the JSON form of an event.
type eventJSON struct {
	Version int `json:"v"`
	*eventFields
	// One of these is set if the event has a value.
	Nested    *Nested         `json:"nested,omitempty"`
	Value     json.RawMessage `json:"value,omitzero"`
	ValueType string          `json:"value_type,omitempty"`

	Error *EventError `json:"error,omitempty"`
	// Omitted lists the fields that cannot be written as JSON, with the reason, one per line.
	Omitted string `json:"omitted,omitempty"`
}

// AppendJSON appends the event to dst as one JSON object on one line, and returns the extended
// slice. It suits server-sent events and logs. A text delta costs no allocation if dst has room.
//
// The object has the version in "v", the kind in "kind", and a member for each field of [Event]
// that is not empty, in snake case: part_kind, call_id and so on. Arguments are strings that hold
// what the model wrote. A message has the form of [model.Message.MarshalJSON]. An error is an
// object with at least "kind" and "text": see [EventError]. Value is written as JSON in "value",
// except for a [Nested] event, which is in "nested". If a value cannot be written as JSON,
// "value_type" names its Go type instead. If another field cannot be written, such as a tool result
// with invalid metadata, "omitted" names it and gives the reason. AppendJSON never fails.
func (e Event) AppendJSON(dst []byte) []byte {
	if e.Kind == EventPartDelta && e.isPlain() {
		return e.appendDelta(dst)
	}
	fields := eventFields(e)
	form := eventJSON{Version: EventVersion, eventFields: &fields}
	if e.Err != nil {
		form.Error = DescribeError(e.Err)
	}
	if e.Value != nil {
		form.setValue(e.Value)
	}
	data, err := plainjson.Marshal(form)
	if err != nil {
		form.omit()
		if data, err = plainjson.Marshal(form); err != nil {
			data, _ = json.Marshal(eventJSON{Version: EventVersion, eventFields: &eventFields{Kind: e.Kind, Step: e.Step}, Omitted: err.Error()})
		}
	}
	return append(dst, data...)
}

// isPlain reports whether the event has no fields but those that [Event.appendDelta] writes.
func (e *Event) isPlain() bool {
	return e.CallID == "" && e.Tool == "" && e.ToolKind == "" && e.ToolTitle == "" && !e.Output && e.Args == nil && e.Repaired == nil &&
		!e.Valid && e.Attempt == 0 && e.Decision == nil && e.Result == nil && e.Message == nil && e.Usage == nil && e.Value == nil && e.Err == nil
}

// appendDelta is the fast path of AppendJSON for deltas.
func (e *Event) appendDelta(dst []byte) []byte {
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, EventVersion, 10)
	dst = append(dst, `,"kind":"part_delta"`...)
	if e.Step != 0 {
		dst = strconv.AppendInt(append(dst, `,"step":`...), int64(e.Step), 10)
	}
	if e.Part != 0 {
		dst = strconv.AppendInt(append(dst, `,"part":`...), int64(e.Part), 10)
	}
	if e.PartKind != "" {
		dst = plainjson.AppendString(append(dst, `,"part_kind":`...), e.PartKind)
	}
	if e.Text != "" {
		dst = plainjson.AppendString(append(dst, `,"text":`...), e.Text)
	}
	return append(dst, '}')
}

// setValue sets the value of an event. The value may be of any type, and its methods may fail or panic.
func (f *eventJSON) setValue(value any) {
	if n, ok := value.(Nested); ok {
		f.Nested = &n
		return
	}
	e := emittedOf(value)
	if f.Value = e.Data; e.Data == nil {
		f.ValueType = e.Type
	}
}

// omit leaves out the fields that cannot be written as JSON.
func (f *eventJSON) omit() {
	try := func(name string, value any) bool {
		_, err := json.Marshal(value)
		if err == nil {
			return true
		}
		if f.Omitted != "" {
			f.Omitted += "\n"
		}
		f.Omitted += name + ": " + err.Error()
		return false
	}
	if f.Decision != nil && !try("decision", f.Decision) {
		f.Decision = nil
	}
	if f.Result != nil && !try("result", f.Result) {
		f.Result = nil
	}
	if f.Message != nil && !try("message", f.Message) {
		f.Message = nil
	}
	if f.Usage != nil && !try("usage", f.Usage) {
		f.Usage = nil
	}
}

// MarshalJSON returns what [Event.AppendJSON] appends. It never returns an error.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the form that [Event.AppendJSON] writes. Unknown kinds are kept and unknown members are ignored. An event
// of a newer version is refused with an error that wraps [ErrEventVersion], and one with a message of a newer version with
// [model.ErrMessageVersion].
//
// Err becomes an [*EventError]. Value becomes a [model.PendingCall] in an [EventPending], a [Nested] for an event of an inner run, an
// [OpaqueValue] for what could not be written, and a [json.RawMessage] otherwise: partial and final outputs, and what tools
// emit.
func (e *Event) UnmarshalJSON(data []byte) error {
	var version struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("agent: event: %w", err)
	}
	if version.Version > EventVersion {
		return fmt.Errorf("agent: %w: %d, this program reads up to %d", ErrEventVersion, version.Version, EventVersion)
	}
	var read Event
	form := eventJSON{eventFields: (*eventFields)(&read)}
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("agent: event: %w", err)
	}
	if read.Kind == "" || form.Nested != nil && form.Nested.Event.Kind == "" {
		return errors.New("agent: event: kind is missing")
	}
	switch {
	case form.Nested != nil:
		read.Value = *form.Nested
	case form.ValueType != "":
		read.Value = OpaqueValue{Type: form.ValueType}
	case form.Value != nil && read.Kind == EventPending:
		var call model.PendingCall
		if err := json.Unmarshal(form.Value, &call); err != nil {
			return fmt.Errorf("agent: event: pending call: %w", err)
		}
		read.Value = call
	case form.Value != nil:
		read.Value = form.Value
	}
	if form.Error != nil {
		read.Err = form.Error
	}
	*e = read
	return nil
}
