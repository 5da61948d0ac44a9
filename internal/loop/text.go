// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"strings"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// settleText processes a response without tool calls.
func (r *run) settleText(ctx context.Context, resp *model.Message) (bool, error) {
	text := resp.Text()
	var media []model.Part
	if r.offer.Media {
		media = mediaOf(resp)
	}
	var why string
	var cause error
	switch {
	case len(media) == 0 && strings.TrimSpace(text) == "":
		why = "Your answer was empty."
	case len(media) == 0 && !r.offer.Text:
		why = "Plain text responses are not accepted."
	case r.offer.TextCall:
		done, c, err := r.cfg.Over.text(ctx, r, text, resp.Finish == model.FinishStop)
		if c == nil || err != nil {
			return done, err
		}
		why, cause = c.answer.Text, c.cause
	default:
		t := r.lone(engine.OpOutput)
		t.Text, t.Media, t.Complete = text, media, resp.Finish == model.FinishStop
		done := r.do(ctx, t)
		switch {
		case done.Err != nil:
			return false, &engine.RunError{Stage: engine.StageOutput, Err: done.Err}
		case !done.Return.Retry:
			r.output, r.repaired = done.Output, done.Repaired
			if cut(resp) != nil {
				r.cut = resp.Finish
			}
			return true, nil
		}
		why, cause = done.Return.Text, done.Return.Cause
	}
	if err := cut(resp); err != nil {
		r.interrupt(resp)
		return false, &engine.RunError{Stage: engine.StageOutput, Err: err}
	}
	if cause == nil {
		cause = errors.New(why)
		why += " " + r.howToAnswer()
	}
	return false, r.retryText(why, cause)
}

// mediaOf returns the media parts of a response.
func mediaOf(resp *model.Message) []model.Part {
	var media []model.Part
	for i := range resp.Parts {
		if resp.Parts[i].Kind == model.PartMedia {
			media = append(media, resp.Parts[i])
		}
	}
	return media
}

// howToAnswer tells the model how to answer.
func (r *run) howToAnswer() string {
	var outputs []string
	for i := range r.offer.Tools {
		if r.offer.Tools[i].Output {
			outputs = append(outputs, r.offer.Tools[i].Name)
		}
	}
	switch {
	case len(outputs) == 1:
		return "Call the tool " + outputs[0] + " to respond."
	case len(outputs) > 1:
		return "Call one of these tools to respond: " + strings.Join(outputs, ", ") + "."
	}
	with := "text"
	switch {
	case r.offer.Media && r.offer.Text:
		with = "text or media"
	case r.offer.Media:
		with = "media, such as an image"
	}
	if len(r.offer.Tools) > 0 {
		return "Answer with " + with + ", or call a tool."
	}
	return "Answer with " + with + "."
}

// retryText asks the model for another answer, within the budget of text outputs.
func (r *run) retryText(why string, cause error) error {
	attempt := r.budgets.fail(textBudget)
	r.append(&model.Message{Kind: model.KindRequest, Parts: []model.Part{model.Retry("", "", why)}})
	if attempt > r.cfg.OutputRetries {
		return &engine.RunError{Stage: engine.StageOutput, Attempt: attempt - 1, Err: &engine.BudgetError{Retries: r.cfg.OutputRetries, Err: cause}}
	}
	return r.emit(&engine.Event{Kind: engine.EventRetry, Text: why, Attempt: attempt})
}
