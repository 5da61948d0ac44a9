// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"errors"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Func returns a model that answers with fn. If a request asks for a stream, the response is
// streamed word by word (see [Emit]). Fn must be safe for concurrent use if runs are concurrent.
func Func(fn func(ctx context.Context, req *model.Request) (*model.Message, error)) model.Model {
	return double("func", fn)
}

// double returns a model of this package that answers with fn.
func double(name string, fn func(ctx context.Context, req *model.Request) (*model.Message, error)) model.Model {
	info := model.Info{Provider: "modeltest", Name: name, NativeOutput: true, Media: []string{"image", "audio", "application/pdf"}}
	return model.Func(info, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		resp, err := fn(ctx, req)
		if err != nil {
			return nil, err
		}
		if resp == nil {
			return nil, errors.New("modeltest: the function returned neither a response nor an error")
		}
		if sink != nil {
			if err := Emit(ctx, resp, sink); err != nil {
				return nil, err
			}
		}
		return resp, nil
	})
}

// Emit passes a complete response to a sink as if it were streamed: text, thinking and tool calls
// word by word, then the usage. It returns the sink's error, or the cause of ctx.
func Emit(ctx context.Context, resp *model.Message, sink model.Sink) error {
	part := 0
	for i := range resp.Parts {
		p := &resp.Parts[i]
		text := p.Text
		switch p.Kind {
		case model.PartToolCall:
			text = string(p.Args)
		case model.PartText, model.PartThinking:
		default:
			continue // not a streamed part
		}
		d := model.Delta{Part: part, Kind: p.Kind, CallID: p.CallID, Tool: p.Tool}
		part++
		for first := true; first || text != ""; first = false {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			d.Text, text = firstWord(text)
			if err := sink(d); err != nil {
				return err
			}
			d.CallID, d.Tool = "", ""
		}
	}
	if resp.Usage != (model.Usage{}) {
		usage := resp.Usage
		if err := sink(model.Delta{Usage: &usage}); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// firstWord splits text after its first space or line break.
func firstWord(text string) (first, rest string) {
	i := strings.IndexAny(text, " \n")
	if i < 0 {
		return text, ""
	}
	return text[:i+1], text[i+1:]
}
