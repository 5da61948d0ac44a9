package modeltest

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// Func returns a model that answers with fn. Its responses are streamed, when that is asked for, in chunks of a word (see
// [Emit]). fn must be safe for concurrent use if runs are concurrent.
func Func(fn func(ctx context.Context, req *model.Request) (*model.Message, error)) model.Model {
	return model.Func(model.Info{Provider: "modeltest", Name: "func", NativeOutput: true, Media: []string{"image", "audio", "application/pdf"}},
		func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			resp, err := fn(ctx, req)
			if err != nil || resp == nil || sink == nil {
				return resp, err
			}
			return resp, Emit(ctx, resp, sink)
		})
}

// Emit passes a complete response to a sink as if it had been streamed, a word at a time. It ends with the sink's error,
// or ctx's cause.
func Emit(ctx context.Context, resp *model.Message, sink model.Sink) error {
	for i := range resp.Parts {
		p := &resp.Parts[i]
		text := p.Text
		if p.Kind == model.PartToolCall {
			text = string(p.Args)
		}
		d := model.Delta{Part: i, Kind: p.Kind, CallID: p.CallID, Tool: p.Tool}
		for first := true; first || text != ""; first = false {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			d.Text, text = word(text)
			if err := sink(d); err != nil {
				return err
			}
			d.CallID, d.Tool = "", ""
		}
	}
	if resp.Usage != (model.Usage{}) {
		return sink(model.Delta{Usage: &resp.Usage})
	}
	return nil
}

// word splits text behind its first space.
func word(text string) (first, rest string) {
	i := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r == '\n' })
	if i < 0 {
		return text, ""
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	return text[:i+size], text[i+size:]
}
