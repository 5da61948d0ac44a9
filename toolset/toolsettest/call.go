// SPDX-License-Identifier: Apache-2.0

package toolsettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Call runs one call of a tool as an agent would in a run of its own: it opens the toolset, looks for the tool among those
// of the step, decodes and checks the arguments, asks whether the call needs approval, calls the tool and closes the
// toolset. Args are JSON as a model would write it.
//
// The run context says who calls: its Deps are the tool's. It may be nil if the tool needs nothing of it. Where it leaves
// [toolset.Call] empty, Call fills it in; set Call.Approved to run a tool that needs approval.
//
// Invalid arguments are a [*toolset.ValidationError] or [*toolset.RetryError], a call that needs approval is a
// [*toolset.ApprovalRequiredError], a call of an external tool is a [*toolset.DeferredError], and a tool that is not
// there is an error that lists those that are. A panic of the tool passes through.
func Call[D any](ctx context.Context, set toolset.Toolset[D], run *toolset.RunContext[D], tool, args string) (res toolset.Result, err error) {
	step := begin(run, tool, args)
	instance, err := set.Open(ctx, step)
	if err != nil {
		return res, fmt.Errorf("toolsettest: open toolset %q: %w", set.Name(), err)
	}
	defer func() {
		if closeErr := instance.Close(context.WithoutCancel(ctx)); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("toolsettest: close toolset %q: %w", set.Name(), closeErr))
		}
	}()
	listing, err := instance.Tools(ctx, step)
	if err != nil {
		return res, fmt.Errorf("toolsettest: tools of toolset %q: %w", set.Name(), err)
	}
	i := slices.IndexFunc(listing.Tools, func(t *toolset.Tool[D]) bool { return t.Def.Name == tool })
	if i < 0 {
		return res, fmt.Errorf("toolsettest: toolset %q has no tool %q, but: %s", set.Name(), tool, strings.Join(names(listing), ", "))
	}
	return call(ctx, listing.Tools[i], step, args)
}

func begin[D any](run *toolset.RunContext[D], tool, args string) *toolset.RunContext[D] {
	var step toolset.RunContext[D]
	if run != nil {
		step = *run
	}
	if step.Step == 0 {
		step.Step = 1
	}
	if step.Call.ID == "" {
		step.Call.ID = "call"
	}
	if step.Call.Args == nil {
		step.Call.Args = model.RawArgs(args)
	}
	if step.Call.Tool == "" {
		step.Call.Tool = tool
	}
	return &step
}

func call[D any](ctx context.Context, t *toolset.Tool[D], run *toolset.RunContext[D], args string) (toolset.Result, error) {
	if err := t.Err(); err != nil {
		return toolset.Result{}, err
	}
	decoded, err := decode(t, args)
	if err != nil {
		return toolset.Result{}, err
	}
	if t.Check != nil {
		if err := t.Check(ctx, run, decoded); err != nil {
			return toolset.Result{}, err
		}
	}
	if t.Approval != nil && !run.Call.Approved {
		approval, err := t.Approval(ctx, run, decoded)
		if err != nil {
			return toolset.Result{}, err
		}
		if approval != nil {
			return toolset.Result{}, toolset.ApprovalRequired(*approval)
		}
	}
	if t.External {
		return toolset.Result{}, toolset.Deferred(nil)
	}
	return t.Call(ctx, run, decoded)
}

func decode[D any](t *toolset.Tool[D], args string) (any, error) {
	if t.Decode == nil {
		return json.RawMessage(args), nil
	}
	return t.Decode([]byte(args))
}

func names[D any](l toolset.Listing[D]) []string {
	all := make([]string, len(l.Tools))
	for i, t := range l.Tools {
		all[i] = t.Def.Name
	}
	return all
}
