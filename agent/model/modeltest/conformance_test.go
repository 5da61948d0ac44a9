// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func TestGoodModelConforms(t *testing.T) {
	var w wires
	results := modeltest.Conformance(t, w.watch(modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model { return w.new(t, s) },
	}))
	require.NotEmpty(t, results)
	for _, r := range results {
		require.Equal(t, modeltest.OutcomePassed, r.Outcome, "%v", r)
	}
}

// answering returns the function of a double that plays a scenario, as well as a function that returns complete responses
// can.
func answering(t testing.TB, s modeltest.Scenario, name string) func(context.Context, *model.Request) (*model.Message, error) {
	switch {
	case s.Rule == "Call ids are unique", strings.HasPrefix(s.Rule, "What the provider wants back"):
		t.Skip("what the function returns is returned as it is")
	case s.Fault != "":
		t.Skip("there is no wire that could break")
	case s.Rule == "Unsupported requests are errors":
		t.Skip("a double takes everything")
	case s.Answer != nil && (s.Silent || s.Error != nil):
		t.Skip("the function gives whole answers")
	}
	return func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		switch {
		case s.Silent:
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case s.Error != nil:
			e := *s.Error
			e.Provider, e.Model = "modeltest", name
			return nil, &e
		}
		return s.Answer.Clone(), nil
	}
}

func TestFuncConforms(t *testing.T) {
	modeltest.Conformance(t, modeltest.Harness{
		New: func(t testing.TB, s modeltest.Scenario) model.Model { return modeltest.Func(answering(t, s, "func")) },
	})
}

func TestScriptConforms(t *testing.T) {
	modeltest.Conformance(t, modeltest.Harness{
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			steps := make([]modeltest.Step, 100)
			for i := range steps {
				steps[i] = answering(t, s, "script")
			}
			return modeltest.Script(steps...)
		},
	})
}

func TestCaptureConforms(t *testing.T) {
	modeltest.Conformance(t, modeltest.Harness{
		Provider: true, Citations: true,
		New: func(_ testing.TB, s modeltest.Scenario) model.Model {
			return modeltest.Capture(&provider{Scenario: s})
		},
	})
}

func TestAutoConforms(t *testing.T) {
	modeltest.Conformance(t, modeltest.Harness{
		Unscripted: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			switch {
			case s.Silent || s.Error != nil || s.Fault != "":
				t.Skip("it always answers, and at once")
			case s.Rule == "Unsupported requests are errors":
				t.Skip("a double takes everything")
			}
			return modeltest.Auto()
		},
	})
}

func TestRecordAndReplayConform(t *testing.T) {
	// The suite first talks to a recorder. In each subtest, a replayer then answers from the recording of the same
	// subtest.
	dir := t.TempDir()
	file := func(t testing.TB) string {
		return filepath.Join(dir, filepath.Base(filepath.Dir(t.Name())), filepath.Base(t.Name())+".json")
	}
	t.Run("Record", func(t *testing.T) {
		modeltest.Conformance(t, modeltest.Harness{
			Provider: true, Citations: true,
			New: func(t testing.TB, s modeltest.Scenario) model.Model {
				r := modeltest.Record(&provider{Scenario: s}, file(t))
				t.Cleanup(func() { require.NoError(t, r.Close()) })
				return r
			},
		})
	})
	t.Run("Replay", func(t *testing.T) {
		modeltest.Conformance(t, modeltest.Harness{
			Citations: true,
			New: func(t testing.TB, s modeltest.Scenario) model.Model {
				if s.Rule == "Forbidden requests are not made" {
					t.Skip("there is nothing in the recording, for the request was not made")
				}
				r, err := modeltest.Replay(file(t))
				require.NoError(t, err)
				return r
			},
		})
	})
}
