package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/internal/schema"
	"github.com/ponte-go/ponte/toolset"
)

// Output says how the model gives the output of a run.
type Output struct {
	// Mode is the way; see there.
	Mode OutputMode
	// Name and Description are the output tool's, or the schema's. The defaults are "final_result" and a sentence that
	// says what it is for.
	Name, Description string
}

// OutputMode is a way in which a model can give structured output.
type OutputMode string

const (
	// OutputAuto is text for an output type of string and [OutputTool] for any other.
	OutputAuto OutputMode = ""
	// OutputTool has the model call a tool whose arguments are the output. It works with every model that has tools.
	OutputTool OutputMode = "tool"
	// OutputNative uses the provider's own support for JSON schemas. The model must have it ([model.Info]).
	OutputNative OutputMode = "native"
	// OutputPrompted puts the schema into the instructions, for models that have nothing else.
	OutputPrompted OutputMode = "prompted"
)

const (
	defaultOutputName = "final_result"
	defaultOutputText = "Give the final answer. Call this when you have all that it needs."
)

// output turns what the model gives into the output type.
type output[D, O any] struct {
	mode       OutputMode // never OutputAuto; empty is plain text
	def        model.ToolDef
	schema     *schema.Type
	validators []Validator[D, O]
}

func newOutput[D, O any](config *Config[D, O]) (*output[D, O], error) {
	t := reflect.TypeFor[O]()
	o := &output[D, O]{mode: config.Output.Mode, validators: config.Validators}
	if o.mode == OutputAuto && t.Kind() == reflect.String {
		return o, nil
	}
	if o.mode == OutputAuto {
		o.mode = OutputTool
	}
	if m := o.mode; m != OutputTool && m != OutputNative && m != OutputPrompted {
		return nil, fmt.Errorf("unknown output mode %q", m)
	}
	if config.Model != nil && o.mode == OutputNative && !config.Model.Info().NativeOutput {
		return nil, fmt.Errorf("output mode native: %w: %s", model.ErrUnsupported, config.Model.Info().Name)
	}
	var err error
	if o.schema, err = schema.For(t); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	o.def = model.ToolDef{Name: config.Output.Name, Description: config.Output.Description, Schema: o.schema.JSON()}
	if o.def.Name == "" {
		o.def.Name = defaultOutputName
	}
	if o.def.Description == "" {
		o.def.Description = defaultOutputText
	}
	return o, nil
}

// instructions are added where the model learns of the schema from them alone.
func (o *output[D, O]) instructions() string {
	if o.mode != OutputPrompted {
		return ""
	}
	return "Answer with a JSON document that keeps this JSON schema, and with nothing else:\n" + string(o.def.Schema)
}

// apply makes the output part of what a request offers.
func (o *output[D, O]) apply(f *loop.Frame, retries int) {
	switch o.mode {
	case OutputTool:
		f.Tools = append(f.Tools, loop.Tool{Name: o.def.Name, Output: true, Retries: retries, Decode: o.decode})
		f.Defs = append(f.Defs, o.def)
	case OutputNative:
		f.Text = true
		f.Output = &model.OutputSchema{Name: o.def.Name, Description: o.def.Description, Schema: o.def.Schema, Strict: true}
	default:
		f.Text = true
	}
}

func (o *output[D, O]) decode(args []byte) (any, *loop.Invalid) {
	out := new(O)
	if err := o.schema.Decode(args, out); err != nil {
		return nil, forModel(err)
	}
	return out, nil
}

// finish makes the output of what an output task carries.
func (o *output[D, O]) finish(ctx context.Context, run *toolset.RunContext[D], t *loop.Task) loop.Done {
	var out *O
	switch {
	case t.Call != nil:
		out, _ = t.Call.Decoded.(*O)
	case o.mode == "":
		out = new(O)
		reflect.ValueOf(out).Elem().SetString(t.Text)
	default:
		decoded, invalid := o.decode(schema.TrimFences([]byte(t.Text)))
		if invalid != nil {
			return loop.Done{Return: loop.Return{Retry: true, Text: invalid.Text, Cause: invalid.Err}}
		}
		out = decoded.(*O)
	}
	if out == nil {
		return loop.Done{Err: fmt.Errorf("output is %T, want %T", t.Call.Decoded, out)}
	}
	value := *out
	for _, validate := range o.validators {
		var err error
		if value, err = validate(ctx, run, value); err != nil {
			var retry *toolset.RetryError
			if errors.As(err, &retry) {
				return loop.Done{Return: loop.Return{Retry: true, Text: retry.Message, Cause: err}}
			}
			return loop.Done{Err: fmt.Errorf("output validator: %w", err)}
		}
	}
	return loop.Done{Output: value}
}

// forModel gives an error the text that the model is shown.
func forModel(err error) *loop.Invalid {
	var invalid *schema.Error
	if errors.As(err, &invalid) {
		return &loop.Invalid{Text: invalid.Prompt(), Err: err}
	}
	var retry *toolset.RetryError
	if errors.As(err, &retry) {
		return &loop.Invalid{Text: retry.Message, Err: err}
	}
	return &loop.Invalid{Text: "The arguments are not valid: " + strings.TrimSpace(err.Error()), Err: err}
}
