// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Counter returns a toolset that keeps state in memory, for tests of engines and runners. Its tool
// is "count", which has no arguments and returns how many calls of the run it has had. See
// [CheckCounter].
func Counter[D any]() toolset.Toolset[D] { return counter[D]{} }

type counter[D any] struct{}

func (counter[D]) Name() string { return "counter" }

// Open implements [toolset.Toolset].
func (counter[D]) Open(context.Context, *toolset.RunContext[D]) (toolset.Instance[D], error) {
	var mu sync.Mutex
	calls := 0
	next := func(context.Context, *toolset.RunContext[D], struct{}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return fmt.Sprint(calls), nil
	}
	count := toolset.Func("count", "Count.", next, toolset.InMemory("a count"))
	return toolset.Of(count).Open(context.Background(), nil)
}

// CheckCounter checks the end of a run with the tools of [Counter] on an engine, whose model has
// called "count" in several steps. Either the engine has kept the count, or it has refused the run
// with a [*toolset.InMemoryError] before the model was asked. requests is how often it was.
func CheckCounter(messages []*model.Message, err error, requests int) error {
	refused := new(toolset.InMemoryError)
	switch {
	case errors.As(err, &refused) && requests > 0:
		return fmt.Errorf("the run was refused after %d requests", requests)
	case errors.As(err, &refused):
		return nil
	case err != nil:
		return fmt.Errorf("the run has failed, and not with a toolset.InMemoryError: %w", err)
	}
	calls := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind != model.PartToolReturn {
				continue
			}
			if calls++; p.Text != fmt.Sprint(calls) {
				return fmt.Errorf("call %d of the run has counted %s: "+
					"the engine neither keeps the state of the tool nor refuses it", calls, p.Text)
			}
		}
	}
	if calls < 2 {
		return fmt.Errorf("the run has %d calls of the tool, want two at least", calls)
	}
	return nil
}
