// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// Reporter returns a listener that hands what a task reports to send, as JSON: for the side of the worker, whose run is in another
// process. An error of send is returned to the task. send is called as a [Worker] calls its listener.
func Reporter(send func(report []byte) error) Listener { return reporter(send) }

type reporter func([]byte) error

func (send reporter) Sink() model.Sink {
	return func(d model.Delta) error { return send.report(&reportJSON{Delta: &d}) }
}

func (send reporter) Custom(c *Call, value any) error {
	return send.report(&reportJSON{InCall: c != nil, emitted: emittedOf(value)})
}

func (send reporter) report(form *reportJSON) error {
	form.Version = Version
	data, err := plainjson.Marshal(form)
	if err != nil {
		return fmt.Errorf("engine: report: %w", err)
	}
	return send(data)
}

// Deliver passes a report on to l: for the side of the run. t is the task that it is about. Custom
// events of inner runs arrive as [Nested], those of policies as [Refusal], others as
// [json.RawMessage], or as [OpaqueValue] if JSON could not hold them. Like any call of a listener,
// it belongs into [Engine.WaitAny].
func Deliver(t *Task, report []byte, l Listener) error {
	var form reportJSON
	if err := unmarshal("report", report, &form); err != nil {
		return err
	}
	if form.Delta != nil {
		if t.Op != OpModel {
			return errors.New("engine: report: a delta of a task that is not a request")
		}
		return l.Sink()(*form.Delta)
	}
	var c *Call
	if form.InCall {
		c = t.Call
	}
	return l.Custom(c, form.value())
}

type reportJSON struct {
	Version int          `json:"v"`
	Delta   *model.Delta `json:"delta,omitempty"`
	// InCall is set if a tool emitted the value, not a history processor.
	InCall bool `json:"in_call,omitempty"`
	emitted
}
