// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

// Name is the model's name.
const Name = "offline-demo"

// contextWindow is nominal. It lets an IDE show how a conversation fills it. The model has no
// limit.
const contextWindow = 32_768

// Config adjusts the model. The zero value is useful.
type Config struct {
	// Delay is the pause between two streamed pieces of text, for people to watch. 0 means none.
	Delay time.Duration
}

// New returns the model.
func New(config Config) model.Model { return &demo{config} }

type demo struct{ config Config }

var _ model.Model = (*demo)(nil)

// Info implements [model.Model].
func (*demo) Info() model.Info {
	return model.Info{Provider: "offline", Name: Name, ContextWindow: contextWindow}
}

// Generate implements [model.Model].
func (d *demo) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	switch {
	case req.Output != nil:
		return nil, fmt.Errorf("offline: output by schema: %w", model.ErrUnsupported)
	case req.ToolChoice.Mode == model.ToolChoiceRequired || req.ToolChoice.Mode == model.ToolChoiceTool:
		return nil, fmt.Errorf("offline: tool choice %q: %w", req.ToolChoice.Mode, model.ErrUnsupported)
	}
	for _, m := range req.Messages {
		for i := range m.Parts {
			if m.Kind == model.KindRequest && m.Parts[i].Kind == model.PartMedia {
				return nil, fmt.Errorf("offline: media (%s): %w", m.Parts[i].MediaType, model.ErrUnsupported)
			}
		}
	}
	s := speaker{sink: sink, delay: d.config.Delay}
	for _, a := range next(req) {
		if err := s.perform(ctx, a); err != nil {
			return nil, err
		}
	}
	return s.finish(ctx, req)
}
