// SPDX-License-Identifier: Apache-2.0

package modeltest_test

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

type recNothing struct{}

type recQuery struct {
	City string `json:"city" validate:"required,min=3"`
	Days int    `json:"days" validate:"min=2,max=14"`
}

type recReport struct {
	Title string     `json:"title" validate:"required"`
	Parts []recQuery `json:"parts" validate:"min=1"`
}

func recForecast(opts ...toolset.Option) *toolset.Tool[recNothing] {
	return toolset.Plain[recNothing]("forecast", "Forecast.", func(_ context.Context, q recQuery) (map[string]int, error) {
		return map[string]int{q.City: q.Days}, nil
	}, opts...)
}

func recPing() *toolset.Tool[recNothing] {
	return toolset.Plain[recNothing]("ping", "Ping.", func(context.Context, recNothing) (string, error) { return "pong", nil })
}

func recAsk(text string) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}}
}

func generate(t testing.TB, m model.Model, req *model.Request) *model.Message {
	t.Helper()
	msg, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	return msg
}

func recFailure(t testing.TB, m model.Model, req *model.Request) error {
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

var errRecBoom = errors.New("boom")

// fakeT is a test that only records what happens.
type recFakeT struct {
	testing.TB
	ctx      context.Context
	problems []string
	logs     string
	cleanups []func()
}

// inTest runs f in a fakeT.
func inTest(t *testing.T, f func(t testing.TB)) *recFakeT {
	fake := &recFakeT{ctx: t.Context()}
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

func (t *recFakeT) Helper()                         {}
func (t *recFakeT) Name() string                    { return "fake" }
func (t *recFakeT) Context() context.Context        { return t.ctx }
func (t *recFakeT) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (t *recFakeT) FailNow()                        { runtime.Goexit() }
func (t *recFakeT) Logf(format string, args ...any) { t.logs += fmt.Sprintf(format, args...) }
func (t *recFakeT) Error(args ...any)               { t.problems = append(t.problems, fmt.Sprint(args...)) }
func (t *recFakeT) Errorf(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *recFakeT) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *recFakeT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}
