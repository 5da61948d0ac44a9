// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

type nothing struct{}

type query struct {
	City string `json:"city" validate:"required,min=3"`
	Days int    `json:"days" validate:"min=2,max=14"`
}

type report struct {
	Title string  `json:"title" validate:"required"`
	Parts []query `json:"parts" validate:"min=1"`
}

func forecast(opts ...toolset.Option) *toolset.Tool[nothing] {
	return toolset.Plain[nothing]("forecast", "Forecast.", func(_ context.Context, q query) (map[string]int, error) {
		return map[string]int{q.City: q.Days}, nil
	}, opts...)
}

func ping() *toolset.Tool[nothing] {
	return toolset.Plain[nothing]("ping", "Ping.", func(context.Context, nothing) (string, error) { return "pong", nil })
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

// fakeT is a test that only records what happens.
type fakeT struct {
	testing.TB
	ctx      context.Context
	problems []string
	logs     string
	cleanups []func()
}

// inTest runs f in a fakeT.
func inTest(t *testing.T, f func(t testing.TB)) *fakeT {
	fake := &fakeT{ctx: t.Context()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(fake)
	}()
	<-done
	for _, f := range slices.Backward(fake.cleanups) {
		f()
	}
	return fake
}

func (t *fakeT) Helper()                         {}
func (t *fakeT) Name() string                    { return "fake" }
func (t *fakeT) Context() context.Context        { return t.ctx }
func (t *fakeT) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (t *fakeT) FailNow()                        { runtime.Goexit() }
func (t *fakeT) Logf(format string, args ...any) { t.logs += fmt.Sprintf(format, args...) }
func (t *fakeT) Error(args ...any)               { t.problems = append(t.problems, fmt.Sprint(args...)) }
func (t *fakeT) Errorf(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *fakeT) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *fakeT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}
