package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// provider is a model in the process that does what a scenario says, and keeps the contract.
type provider struct {
	modeltest.Scenario
}

func (p *provider) Info() model.Info {
	return model.Info{Provider: "played", Name: "one", NativeOutput: true}
}

func (p *provider) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(p.Info()); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			if part.MediaType == "video/mp4" {
				return nil, fmt.Errorf("played: video: %w", model.ErrUnsupported)
			}
		}
	}
	failure := func() error {
		e := *p.Error
		e.Provider, e.Model = "played", "one"
		return &e
	}
	if p.Answer == nil {
		if p.Error != nil {
			return nil, failure()
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	answer := p.Answer.Clone()
	answer.Provider, answer.Model = "played", "one"
	for i := range answer.Parts {
		for j := range i {
			if id := answer.Parts[j].CallID; id != "" && id == answer.Parts[i].CallID {
				answer.Parts[i].CallID += "_2"
			}
		}
	}
	if sink != nil {
		if err := modeltest.Emit(ctx, answer, sink); err != nil {
			return nil, err
		}
	}
	if p.Error != nil {
		return nil, failure()
	}
	if p.Silent {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return answer, nil
}

func ask(text string) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}}
}

func generate(t testing.TB, m model.Model, req *model.Request) *model.Message {
	t.Helper()
	msg, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	return msg
}

func failure(t testing.TB, m model.Model, req *model.Request) error {
	t.Helper()
	msg, err := m.Generate(t.Context(), req, nil)
	require.Error(t, err)
	require.Nil(t, msg)
	return err
}

// deltas makes a streamed request and returns what the sink got.
func deltas(t testing.TB, m model.Model, req *model.Request) ([]model.Delta, *model.Message, error) {
	t.Helper()
	var got []model.Delta
	msg, err := m.Generate(t.Context(), req, func(d model.Delta) error {
		got = append(got, d)
		return nil
	})
	return got, msg, err
}

var errBoom = errors.New("boom")
