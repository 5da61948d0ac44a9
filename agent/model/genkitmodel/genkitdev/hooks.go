// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"context"
	"errors"

	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/core/api"
	"go.opentelemetry.io/otel/attribute"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Hooks returns hooks that show runs in the traces of Genkit's developer tools: a run, and within
// it model requests and tool calls, each with input and output. Put them last in
// [agent.Config.Hooks]. If package otelagent is installed and uses the global tracer provider, its
// spans are shown, with their attributes. Otherwise these hooks make spans.
//
// They work only within Genkit flows, made by [Register] or not, and only if Genkit is in its
// development environment when Hooks is called: the variable GENKIT_ENV must be "dev", which the
// command genkit start sets. Otherwise they do nothing, so conversations do not appear in the
// traces of a program in production.
func Hooks[D any]() agent.Hooks[D] {
	if api.CurrentEnvironment() != api.EnvironmentDev {
		return agent.Hooks[D]{}
	}
	return agent.Hooks[D]{Run: hookRun[D], Request: hookRequest[D], Call: hookCall[D]}
}

func hookRun[D any](ctx context.Context, run *toolset.RunContext[D], next agent.RunFunc) error {
	name := run.Agent
	if name == "" {
		name = "agent"
	}
	ctx, shown := show(ctx, "agent", name)
	var summary *agent.Summary
	err := errPanic // until next has returned
	defer func() {
		if shown == nil {
			return
		}
		var output any
		failed := err
		if summary != nil {
			shown.set(keyInput, messagesOf(asked(summary)))
			output = summary.Output
		}
		if pending := (*agent.PendingError)(nil); errors.As(err, &pending) {
			output, failed = object{"pending": pending.Calls}, nil // the run is pending; it has not failed
		}
		shown.end(output, failed)
	}()
	summary, err = next(ctx)
	return err
}

// asked returns what a run was asked: the requests at its start.
func asked(s *agent.Summary) []*model.Message {
	first := 0
	for first < len(s.Messages) && s.Messages[first].RunID != s.RunID {
		first++
	}
	last := first
	for last < len(s.Messages) && s.Messages[last].Kind == model.KindRequest {
		last++
	}
	return s.Messages[first:last]
}

func hookRequest[D any](ctx context.Context, run *toolset.RunContext[D], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
	name := "model"
	if run.Model != nil && run.Model.Name != "" {
		name = run.Model.Name
		if run.Model.Provider != "" {
			name = run.Model.Provider + "/" + name
		}
	}
	ctx, shown := show(ctx, "model", name)
	var resp *model.Message
	err := errPanic
	defer func() {
		if shown == nil {
			return
		}
		var output any
		if resp != nil {
			output = responseOf(resp)
		}
		shown.end(output, err)
	}()
	if shown != nil {
		shown.set(keyInput, requestOf(req))
	}
	resp, err = next(ctx, req)
	return resp, err
}

func hookCall[D any](ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc) (toolset.Result, error) {
	ctx, shown := show(ctx, "tool", run.Call.Tool)
	var res toolset.Result
	err := errPanic
	defer func() {
		if shown == nil {
			return
		}
		failed := err
		switch text, told := outcome(err); {
		case told:
			res.Text, failed = text, nil
		case err == nil && res.Outcome == model.OutcomeFailed:
			failed = errors.New(res.Text)
		}
		shown.end(res.Text, failed)
	}()
	if shown != nil {
		shown.set(keyInput, arguments(run.Call.Args))
		if run.Call.ID != "" {
			shown.span.SetAttributes(attribute.String("genkit:metadata:ref", run.Call.ID))
		}
	}
	res, err = next(ctx, args)
	return res, err
}

// outcome returns the outcome for an error that is a request rather than a failure.
func outcome(err error) (string, bool) {
	switch toolset.Outcome(err).(type) {
	case nil, *toolset.FailedError:
		return "", false
	}
	return err.Error(), true
}

// errPanic is recorded for a panic.
var errPanic = errors.New("panic")

// inFlow reports whether ctx belongs to a Genkit flow.
func inFlow(ctx context.Context) bool { return core.FlowNameFromContext(ctx) != "" }
