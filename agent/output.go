// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// Output configures how the model returns structured output.
type Output struct {
	// Mode selects how the model returns the output.
	Mode OutputMode
	// Name and Description belong to the output tool or to the schema. The default name is
	// "final_result".
	Name, Description string
}

// OutputMode is a way for a model to return structured output.
type OutputMode string

const (
	// OutputAuto uses text for an output type of string, and [OutputTool] for any other type. There is one exception: a model
	// that cannot be forced to call a tool ([model.Info.NoForcedCalls]), but can be bound to a schema, is asked as in
	// [OutputNative] if the output is a single structured type and the agent has no tools. If the agent has tools, such a model
	// is bound to the schema only after it has answered with plain text, and the output tool is still offered.
	OutputAuto OutputMode = ""
	// OutputTool offers a tool whose arguments are the output. It works with every model that supports tools.
	OutputTool OutputMode = "tool"
	// OutputNative uses the provider's support for JSON schemas, which the model must have ([model.Info.NativeOutput]).
	OutputNative OutputMode = "native"
	// OutputPrompted puts the schema into the instructions, for models without other support.
	OutputPrompted OutputMode = "prompted"

	// outputEither offers the output tool and binds text to its schema. OutputAuto uses it; users cannot.
	outputEither OutputMode = "either"
)

const (
	defaultOutputName = "final_result"
	defaultOutputText = "Return the final answer. Call this once you have everything it requires."
)

// output turns what the model gives into the output type: by one of its alternatives, or from plain text.
type output[D, O any] struct {
	// mode is OutputAuto if the model decides; see modeFor.
	mode         OutputMode
	alternatives []Alternative[D, O]
	// text turns plain text into an output, or is nil if text is not an output.
	text func(ctx context.Context, run *toolset.RunContext[D], text string) (O, error)
	// media turns media and their text into an output, or is nil if media are not an output.
	media      func(ctx context.Context, run *toolset.RunContext[D], media []model.Part, text string) (O, error)
	validators []Validator[D, O]
	// over hands runs over; nil if there is no hand-over.
	over *loop.HandOver
}

func newOutput[D, O any](config *Config[D, O]) (*output[D, O], error) {
	o := &output[D, O]{mode: config.Output.Mode, validators: config.Validators}
	var wrong problems
	switch o.mode {
	case OutputAuto, OutputTool, OutputNative, OutputPrompted:
	default:
		wrong.add("unknown output mode %q", o.mode)
		o.mode = OutputAuto
	}
	if len(config.Alternatives) > 0 {
		o.add(config.Alternatives, config.NoRepair, &wrong)
	} else if isText := reflect.TypeFor[O]().Kind() == reflect.String; isText && o.mode == OutputAuto {
		o.text = plainText[D, O]
	} else if t := reflect.TypeFor[O](); t.Kind() == reflect.Interface && t.NumMethod() > 0 {
		wrong.add("output: %s is an interface: list the types that the model can choose from in Config.Alternatives, each made with agent.As", t)
	} else {
		own := As[D](cmp.Or(config.Output.Name, defaultOutputName), config.Output.Description, func(out O) O { return out })
		o.add([]Alternative[D, O]{own}, config.NoRepair, &wrong)
	}
	failed := wrong != nil // what is missing then is not missing in the configuration
	single := len(o.alternatives) == 1 && o.text == nil && o.media == nil
	if o.mode == OutputAuto && !single {
		o.mode = OutputTool
	}
	if o.mode != OutputAuto && o.mode != OutputTool && !single && !failed {
		wrong.add("output mode %s takes exactly one structured type, and neither text nor media", o.mode)
	}
	if config.Model != nil && o.mode == OutputNative {
		info, err := infoOf(config.Model)
		if err != nil {
			wrong.add("model: %w", err)
		} else if !info.NativeOutput {
			wrong.add("output mode native: %w: %s", model.ErrUnsupported, info.Name)
		}
	}
	return o, wrong.join()
}

func (o *output[D, O]) add(alternatives []Alternative[D, O], exact bool, wrong *problems) {
	for i := range alternatives {
		a := &alternatives[i]
		if a.err != nil {
			wrong.add("%w", a.err)
		}
		switch {
		case a.err != nil && a.def.Name == "":
		case a.text != nil && o.text != nil:
			wrong.add("output: text is given twice")
		case a.media != nil && o.media != nil:
			wrong.add("output: media are given twice")
		case a.text != nil:
			o.text = a.text
		case a.media != nil:
			o.media = a.media
		case a.decode == nil && a.err == nil:
			wrong.add("output: alternative %d is empty: make it with As, OutputFunc, Text or Media", i)
		case o.alternative(a.def.Name) != nil:
			wrong.add("output: two alternatives are called %q", a.def.Name)
		default: // also if it is wrong: its name is taken, as others are
			if err := (&toolset.Tool[D]{Def: a.def}).Err(); err != nil && a.err == nil {
				wrong.add("output: %w", err)
			}
			o.alternatives = append(o.alternatives, *a)
			a = &o.alternatives[len(o.alternatives)-1]
			a.exact = exact
			if a.over != nil {
				o.over = a.loop()
			}
		}
	}
}

func (o *output[D, O]) alternative(name string) *Alternative[D, O] {
	for i := range o.alternatives {
		if o.alternatives[i].def.Name == name {
			return &o.alternatives[i]
		}
	}
	return nil
}

// modeFor returns the mode for a step. It depends on whether the step has tools, and on whether it follows an answer in plain
// text that was refused. A model that is bound to a schema may never call its tools: Ollama does not
// look at them then (https://github.com/ollama/ollama/issues/13750).
func (o *output[D, O]) modeFor(info *model.Info, tools, refused bool) OutputMode {
	switch {
	case o.mode != OutputAuto:
		return o.mode
	case !info.NoForcedCalls || !info.NativeOutput:
		return OutputTool
	case !tools:
		return OutputNative
	case refused:
		return outputEither
	}
	return OutputTool
}

// isTool reports whether a tool's name is taken by the output.
func (o *output[D, O]) isTool(name string, mode OutputMode) bool {
	return (mode == OutputTool || mode == outputEither) && o.alternative(name) != nil
}

// instructions returns the instructions of prompted output, where nothing else tells the model the schema.
func (o *output[D, O]) instructions() string {
	if o.mode != OutputPrompted {
		return ""
	}
	return "Respond only with JSON that matches this schema:\n" + string(o.alternatives[0].def.Schema)
}

// apply adds the output to what a request offers.
func (o *output[D, O]) apply(f *engine.Offer, mode OutputMode, retries int) {
	f.Text, f.Media = o.text != nil || mode != OutputTool, o.media != nil
	if mode == OutputTool || mode == outputEither {
		for i := range o.alternatives {
			a := &o.alternatives[i]
			f.Tools = append(f.Tools, engine.Tool{Name: a.def.Name, Output: true, HandsOver: a.over != nil, Retries: retries})
			f.Defs = append(f.Defs, a.def)
		}
	}
	f.TextCall = len(o.alternatives) == 1 && o.alternatives[0].over != nil && mode != OutputTool
	if mode == OutputNative || mode == outputEither {
		def := o.alternatives[0].def
		f.Output = &model.OutputSchema{Name: def.Name, Description: def.Description, Schema: def.Schema, Strict: true}
	}
}

// errNoOutput is the error of a hand-over that gave no output. Its result says why.
var errNoOutput = errors.New("the hand-over gave no output")

// finish makes the output from the checked call or the text of an output task. It sets done.
func (o *output[D, O]) finish(ctx context.Context, run *toolset.RunContext[D], t *engine.Task, done *engine.Done) {
	value, repaired, err := o.value(ctx, run, t, done)
	if err == errNoOutput {
		return
	}
	for _, validate := range o.validators {
		if err != nil {
			break
		}
		if value, err = validate(ctx, run, value); err != nil && !asksRetry(err) {
			err = errs.Errorf("output validator: %w", err)
		}
	}
	if err != nil {
		refused(t, err, done)
		return
	}
	done.Output, done.Repaired = value, repaired
}

// refused sets done to what an error of an output means.
func refused(t *engine.Task, err error, done *engine.Done) {
	pending, waits := toolset.Outcome(err).(*toolset.PendingError)
	switch {
	case waits && t.Call != nil:
		*done = suspended(pending)
	case errs.As(err, new(*schema.Error)), asksRetry(err):
		done.Return = *forModel(err)
	default:
		done.Err = err
	}
}

// asksRetry reports whether an error asks the model for another output.
func asksRetry(err error) bool {
	_, ok := toolset.Outcome(err).(*toolset.RetryError)
	return ok
}

// value makes an output that has not been validated. A hand-over leaves more in done.
func (o *output[D, O]) value(ctx context.Context, run *toolset.RunContext[D], t *engine.Task, done *engine.Done) (value O, repaired []byte, err error) {
	switch {
	case t.Call != nil:
		a := o.alternative(t.Call.Tool)
		switch {
		case a == nil:
			return value, nil, errors.New("the output was lost")
		case a.over != nil:
			value, err = a.over(ctx, run, t.Call, done)
		default:
			value, err = a.make(ctx, run, t.Call.Decoded)
		}
	case len(t.Media) > 0:
		value, err = o.media(ctx, run, t.Media, t.Text)
	case o.text != nil:
		value, err = o.text(ctx, run, t.Text)
	default:
		a := &o.alternatives[0]
		var decoded any
		if decoded, repaired, err = a.decodedText(t.Text, t.Complete); err != nil {
			return value, nil, err
		}
		value, err = a.make(ctx, run, decoded)
	}
	return value, repaired, err
}

// plainText returns text unchanged, for output types whose kind is string.
func plainText[D, O any](_ context.Context, _ *toolset.RunContext[D], text string) (O, error) {
	var out O
	if s, ok := any(&out).(*string); ok {
		*s = text
	} else {
		reflect.ValueOf(&out).Elem().SetString(text)
	}
	return out, nil
}

// forModel gives an error the text that says to the model what is wrong.
func forModel(err error) *engine.Return {
	var invalid *schema.Error
	retry, retries := toolset.Outcome(err).(*toolset.RetryError)
	var panicked *PanicError
	var text string
	switch {
	case errs.As(err, &invalid):
		text = invalid.Prompt()
	case retries:
		text = retry.Message
	case errs.As(err, &panicked): // the place is of no use to the model
		text = "The arguments are not valid: " + (&PanicError{Value: panicked.Value}).Error()
	default:
		text = "The arguments are not valid: " + strings.TrimSpace(err.Error())
	}
	return &engine.Return{Result: toolset.Result{Text: text}, Retry: true, Cause: err}
}
