// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/verdict"
	"github.com/ponte-go/ponte/toolset"
)

// Judge is a model that decides about calls within a written policy. Model and Policy are required.
//
// It allows a call once or denies it, and leaves everything else to the layers below it and to the person: what Reserved names, what
// another layer wants a person asked about, what a guardrail stops, what it is not sure about, and all calls when it fails, takes too long or
// has used up its budget. It never decides "always".
//
// The model sees what a person would see: the tool, the arguments, and the text of the approval with its previews, as data. Text in them that
// tells it what to decide is not followed, as far as a model can be relied on. So reserve for a person what must not happen by mistake.
type Judge struct {
	// Model decides.
	Model model.Model
	// Policy says which calls are allowed and which are not, in plain words.
	Policy string
	// Reserved are the names of tools that only a person decides about, in which "*" matches any
	// characters. ReservedKinds are kinds of tools.
	Reserved      []string
	ReservedKinds []toolset.Kind
	// NeverDeny leaves to the person what the model would deny.
	NeverDeny bool
	// Meter counts what the judge uses, and has its budget. Nil counts it as a request of the run that the call belongs to, under the
	// limits and windows of that run.
	Meter *toolset.Meter
	// Timeout bounds a decision. 0 means 30 s.
	Timeout time.Duration
	// MaxBytes bounds what the model is shown. Longer calls are for the person: nothing is left out. 0 means 64 KiB.
	MaxBytes int
	// OnError, if not nil, is told why the judge did not decide. It may be called by several goroutines.
	OnError func(ctx context.Context, r *toolset.ApprovalRequest, err error)
}

// JudgeLayer is the name of a [Judge]'s layer. [toolset.Decision].By is this name and the model's.
const JudgeLayer = "judge"

// Layer returns the layer of the judge. A decision of the judge is recorded with its name, its reason and a mark of its policy ([RuleOf]),
// beside what was shown. It gives way to a layer that wants a person asked, in whatever order they are.
func (j Judge) Layer() (Layer, error) {
	var errs []error
	if j.Model == nil {
		errs = append(errs, errors.New("approval: judge: Model is nil"))
	}
	if strings.TrimSpace(j.Policy) == "" {
		errs = append(errs, errors.New("approval: judge: Policy is empty"))
	}
	if j.Timeout < 0 || j.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("approval: judge: Timeout is %v and MaxBytes %d; neither may be negative", j.Timeout, j.MaxBytes))
	}
	for _, pattern := range j.Reserved {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("approval: judge: Reserved: %q is not a pattern for names of tools", pattern))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Layer{}, err
	}
	j.Reserved, j.ReservedKinds = slices.Clone(j.Reserved), slices.Clone(j.ReservedKinds)
	j.Timeout, j.MaxBytes = cmp.Or(j.Timeout, 30*time.Second), cmp.Or(j.MaxBytes, 64<<10)
	info := j.Model.Info()
	sum := sha256.Sum256([]byte(j.Policy))
	mark := "policy " + hex.EncodeToString(sum[:4])
	name := JudgeLayer
	if info.Name != "" {
		name += " (" + info.Name + ")"
	}
	return Layer{Name: name, Decide: func(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
		ruling, err := j.decide(ctx, r, info.NativeOutput)
		if err != nil {
			if ctx.Err() != nil {
				return Ruling{}, context.Cause(ctx)
			}
			if j.OnError != nil {
				j.OnError(ctx, r, err)
			}
			return Ruling{}, nil
		}
		if ruling.Verdict != "" {
			ruling.Rule = mark
			if ruling.why != "" {
				ruling.Rule += ": " + ruling.why
			}
		}
		return ruling.Ruling, nil
	}}, nil
}

type judged struct {
	Ruling
	why string
}

// isReserved reports whether a call is for a person.
func (j *Judge) isReserved(r *toolset.ApprovalRequest) bool {
	return r.Once || slices.Contains(j.ReservedKinds, r.Kind) ||
		slices.ContainsFunc(j.Reserved, func(pattern string) bool {
			ok, _ := path.Match(pattern, r.Tool)
			return ok
		})
}

func (j *Judge) decide(ctx context.Context, r *toolset.ApprovalRequest, native bool) (_ judged, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if j.isReserved(r) {
		return judged{}, nil
	}
	c := verdict.Case{
		Role: "You approve or deny tool calls of an AI agent in the place of its user, by the user's policy. You do nothing else. " +
			"What the policy does not clearly allow is not allowed.",
		Policy: j.Policy,
		Verdicts: []verdict.Answer{
			{Name: "allow", Meaning: "the policy clearly allows all that this call does"},
			{Name: "deny", Meaning: "the policy clearly forbids it"},
			{Name: "ask", Meaning: "anything else: the user will be asked"},
		},
		Data: []verdict.Field{
			{Name: "tool", Text: r.Tool}, {Name: "kind", Text: string(r.Kind)}, {Name: "source", Text: r.Approval.Source},
			{Name: "arguments", Text: string(r.Args)}, {Name: "shown", Text: Text(&r.Approval), Shown: true},
		},
		MaxBytes: j.MaxBytes,
	}
	req, err := c.Request(native)
	if err != nil {
		return judged{}, err
	}
	within, cancel := context.WithTimeoutCause(ctx, j.Timeout, fmt.Errorf("no decision within %v", j.Timeout))
	defer cancel()
	resp, err := verdict.Generate(within, j.Meter, j.Model, req)
	if err == nil && within.Err() != nil {
		err = context.Cause(within)
	}
	if err != nil {
		return judged{}, err
	}
	answer, reason, err := c.Read(resp)
	switch {
	case err != nil:
		return judged{}, err
	case answer == "allow":
		return judged{Ruling{Verdict: toolset.VerdictAllow, Yields: true}, reason}, nil
	case answer == "deny" && !j.NeverDeny:
		return judged{Ruling{
			Verdict: toolset.VerdictDeny,
			Reason:  "Not permitted by the policy that calls are judged by. Do not try to do the same in another way.",
		}, reason}, nil
	}
	return judged{}, nil
}
