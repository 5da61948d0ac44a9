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

// Call runs one call of a tool as an agent would, in its own run: it opens the toolset, finds the
// tool among the tools of the step, decodes and checks the arguments, checks whether the call needs
// approval, calls the tool and closes the toolset. Args is JSON as a model would write it.
//
// Run supplies the Deps for the tool. It may be nil if the tool uses nothing of it. Call fills in the fields of
// [toolset.Call] that are empty. Set Call.Approved to run a tool that needs approval.
//
// The error is a [*toolset.ValidationError] or [*toolset.RetryError] for invalid arguments, a
// [*toolset.ApprovalRequiredError] for a call that needs approval, and a [*toolset.DeferredError] for a call of an
// external tool. The error for an unknown tool lists the available ones. A panic of the tool is not recovered.
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
		return res, fmt.Errorf("toolsettest: toolset %q has no tool %q; available tools: %s", set.Name(), tool, strings.Join(names(listing), ", "))
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
