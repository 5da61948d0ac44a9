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

// askAgain sets the hooks of a call to find out why a stream was empty. The plugin ignores the
// status of a streamed response, but not of an unstreamed one. So the request is sent once more,
// unless something has already been emitted.
func askAgain(ctx context.Context, m ai.Model, c *genkitmodel.Call) {
	seen := false // set by the plugin's goroutine until it has ended
	c.OnChunk = func(chunk *ai.ModelResponseChunk) error {
		seen = seen || len(chunk.Content) > 0
		return c.EmitChunk(chunk)
	}
	c.Recover = func(err error) (*model.Message, error) {
		if !c.Stream || seen || !strings.Contains(err.Error(), "failed to translate chunk") {
			return nil, nil
		}
		return inOnePiece(ctx, m, c, err) // a proxy's response is not JSON
	}
	c.Finish = func(_ *ai.ModelResponse, msg *model.Message) error {
		if len(msg.Parts) > 0 {
			return nil
		}
		empty := &model.APIError{Message: "the response is empty", Retryable: true, Err: io.ErrUnexpectedEOF}
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

// inOnePiece asks for an unstreamed response. A response is used, and so is an error, unless it
// says no more than the first one.
func inOnePiece(ctx context.Context, m ai.Model, c *genkitmodel.Call, first error) (msg *model.Message, err error) {
	defer func() {
		if recover() != nil { // how the plugin reports a response that is not JSON
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
