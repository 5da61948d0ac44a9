// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"iter"
	"reflect"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/partial"
	"github.com/ponte-go/ponte/internal/schema"
)

// Partials runs the agent and yields the output while the model writes it. Each value differs from
// the one before. Only the last one, the run's output, has been validated; in the others, fields
// that have not been written yet are zero. If the run fails, no value is validated, and Result
// returns the error. For plain text each value is the text so far. Outputs of [OutputFunc] are
// yielded only when they are complete.
//
// The conversion of an [As] alternative is called with each of these values. If it panics on an incomplete value, that value is
// skipped and the run continues.
//
// Large outputs are decoded less often as they grow, which keeps the total cost proportional to their size.
//
// If the run is handed over, the values come from the agent that takes over ([HandOver]).
//
// [WithPartials] adds the same values to [Stream.Events].
func (s *Stream[O]) Partials() iter.Seq[O] {
	return func(yield func(O) bool) {
		var last *O
		s.run(true, func(e *Event) bool {
			value := e.Value
			if inner, ok := handedOver(e); ok && inner.Kind == EventPartial {
				value = inner.Value
			} else if e.Kind != EventPartial {
				return true
			}
			out, _ := value.(O) // a nil interface is not one
			last = &out
			return yield(out)
		})
		if s.err == nil && s.result != nil && (last == nil || !reflect.DeepEqual(*last, s.result.Output)) {
			yield(s.result.Output)
		}
	}
}

// WithPartials adds events of kind [EventPartial] to a stream, with the values that [Stream.Partials] yields. Decoding them costs
// some work, so they are off by default. The option has no effect on [Agent.Run] or on runs inside tools.
func WithPartials() RunOption {
	return runOption(func(o *runOptions) { o.partials = true })
}

// withPartials returns an emit function that adds each partial output after the event that completes it.
func (o *output[D, O]) withPartials(emit func(*Event) bool) func(*Event) bool {
	w := partialWriter[O]{decode: o.partial}
	return func(e *Event) bool {
		if !emit(e) {
			return false
		}
		out, ok := w.event(e)
		return !ok || emit(&Event{Kind: EventPartial, Step: e.Step, Part: e.Part, CallID: w.callID, Tool: w.tool, Output: true, Value: out})
	}
}

// partialWriter collects an incomplete output from the events of a run.
type partialWriter[O any] struct {
	// decode decodes the incomplete arguments of an output tool, or text if tool is empty. bound
	// reports that the text must match the output's schema.
	decode func(tool string, bound bool, written []byte) (O, bool)
	bound  bool
	active bool
	part   int
	callID string
	tool   string
	buf    []byte
	looked int // how much of buf has been looked at
	last   *O
}

func (w *partialWriter[O]) event(e *Event) (out O, ok bool) {
	switch {
	case e.Kind == EventRequestStart:
		w.active, w.bound = false, e.Output
	case e.Kind == EventPartStart && (e.PartKind == model.PartToolCall || e.PartKind == model.PartText) && !w.active:
		w.active, w.part, w.callID, w.tool, w.buf, w.looked = true, e.Part, e.CallID, e.Tool, w.buf[:0], 0
		if _, ok := w.decode(w.tool, w.bound, nil); !ok {
			w.active = false // not an output
		}
	case e.Kind == EventPartDelta && w.active && (e.Part == w.part || w.tool == "" && e.PartKind == model.PartText): // text may go on in a new part
		w.buf = append(w.buf, e.Text...)
		return w.look(len(w.buf) / 32)
	case e.Kind == EventPartEnd && w.active && e.Part == w.part:
		return w.look(0)
	}
	return out, false
}

// look decodes the buffer if it has grown by more than step.
func (w *partialWriter[O]) look(step int) (out O, ok bool) {
	if len(w.buf)-w.looked <= step {
		return out, false
	}
	w.looked = len(w.buf)
	out, ok = w.decode(w.tool, w.bound, w.buf)
	if !ok || w.last != nil && reflect.DeepEqual(*w.last, out) {
		return out, false
	}
	w.last = &out
	return out, true
}

// partial makes a value of an output that is still being written. It reports false for what is not an output, and for
// what no value can be made of yet. With nil it only reports whether there will be an output.
func (o *output[D, O]) partial(tool string, bound bool, written []byte) (out O, ok bool) {
	var a *Alternative[D, O]
	nothing := written == nil
	switch {
	case tool != "":
		if o.mode == OutputAuto || o.mode == OutputTool {
			a = o.alternative(tool)
		}
	case bound || o.mode == OutputPrompted:
		a, written = &o.alternatives[0], schema.TrimFences(written)
	case o.text != nil && reflect.TypeFor[O]().Kind() == reflect.String:
		reflect.ValueOf(&out).Elem().SetString(string(written))
		return out, true
	}
	if a == nil || a.partial == nil {
		return out, false
	}
	if nothing {
		return out, true
	}
	return a.partial(written)
}

// partially decodes what has been written of a T, leniently. Types that decode themselves and the
// conversion may expect validated values. Where they panic there is no value yet.
func partially[T, O any](typ *schema.Type, convert func(T) O) func(written []byte) (O, bool) {
	return func(written []byte) (out O, ok bool) {
		defer func() {
			if recover() != nil {
				var none O
				out, ok = none, false
			}
		}()
		var value T
		if complete := partial.Complete(written); complete != nil {
			// Parts that do not fit are left at their zero value; the validation of the whole
			// reports them.
			typ.DecodePartial(complete, &value)
		}
		return convert(value), true
	}
}
