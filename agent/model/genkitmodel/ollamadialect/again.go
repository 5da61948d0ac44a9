// SPDX-License-Identifier: Apache-2.0

package ollamadialect

import (
	"context"
	"io"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// askAgain sets the hooks of a call to find out why a stream had nothing in it. The plugin does not look at the status of a
// streamed answer, but it does at that of one in one piece: so the request is made once more, if nobody has seen anything yet.
func askAgain(ctx context.Context, m ai.Model, c *genkitmodel.Call) {
	seen := false // by the plugin's goroutine, until it has ended
	c.OnChunk = func(chunk *ai.ModelResponseChunk) error {
		seen = seen || len(chunk.Content) > 0
		return c.EmitChunk(chunk)
	}
	c.Recover = func(err error) (*model.Message, error) {
		if !c.Stream || seen || !strings.Contains(err.Error(), "failed to translate chunk") {
			return nil, nil
		}
		return inOnePiece(ctx, m, c, err) // what a proxy says in place of Ollama is no JSON
	}
	c.Finish = func(_ *ai.ModelResponse, msg *model.Message) error {
		if len(msg.Parts) > 0 {
			return nil
		}
		empty := &model.APIError{Message: "the answer is empty", Retryable: true, Err: io.ErrUnexpectedEOF}
		if !c.Stream {
			return empty
		}
		answer, err := inOnePiece(ctx, m, c, empty)
		if answer != nil {
			*msg = *answer
		}
		return err
	}
}

// inOnePiece asks for an answer that is not streamed. What is answered counts, and a refusal is the error; what says no more
// than the first attempt did is the error of that.
func inOnePiece(ctx context.Context, m ai.Model, c *genkitmodel.Call, first error) (msg *model.Message, err error) {
	defer func() {
		if recover() != nil { // the plugin's way of dealing with an answer that is no JSON
			msg, err = nil, first
		}
	}()
	resp, err := m.Generate(ctx, c.Genkit, nil)
	if err != nil {
		if e := (&model.APIError{Err: err}); readError(err, e) {
			genkitmodel.Classify(e)
			return nil, e
		}
		return nil, first
	}
	if msg, err = c.Message(resp); err != nil || len(msg.Parts) == 0 {
		return nil, first
	}
	return msg, nil
}
