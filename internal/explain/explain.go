// SPDX-License-Identifier: Apache-2.0

// Package explain tells users in plain words what went wrong and what to do, without the texts of providers, tools and stores: these name
// hosts and files, and may quote keys.
package explain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

const tell = "If it happens again, contact the administrator of this agent: " +
	"its log has the details."

// Error returns what users are told of an error.
func Error(err error) string {
	if text, ok := Known(err); ok {
		return text
	}
	return "The agent has failed. Try again. " + tell
}

// Known is [Error] for errors of runs and of what they use. It reports false for others, such as those that a program makes for its users.
func Known(err error) (string, bool) {
	var own refusal
	var run *agent.RunError
	var panicked *agent.PanicError
	var limit *agent.LimitError
	var budget *agent.BudgetError
	var api *model.APIError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &own):
		return own.Refused(), true
	case errors.As(err, &panicked):
		return "The agent failed because of a bug. Contact its administrator: " +
			"its log has the details.", true
	case errors.As(err, &limit):
		return ofLimit(limit), true
	case errors.As(err, new(*agent.PriceError)):
		return "The cost of this turn cannot be limited because the price of the model is unknown. Contact the administrator of this agent.", true
	case errors.Is(err, agent.ErrTokenLimit), errors.Is(err, agent.ErrIncompleteToolCall):
		return "The model hit its token limit before finishing. Ask for less at a time.", true
	case errors.Is(err, agent.ErrRefused):
		return "The model refused to answer. Rephrase your message.", true
	case errors.Is(err, agent.ErrContentFilter):
		return "The model's provider withheld the answer. Rephrase your message.", true
	case errors.Is(err, agent.ErrResponseFailed):
		return "The model's provider failed in the middle of its answer. Try again.", true
	case errors.As(err, new(*agent.PendingError)):
		return "A tool call is waiting for an answer that cannot be given here.", true
	case errors.As(err, &budget) && budget.Tool != "":
		return fmt.Sprintf("The model could not use the tool %q correctly. Try again, or rephrase your message.", budget.Tool), true
	case errors.As(err, &budget):
		return "The model did not give a usable answer. Try again, or rephrase your message.", true
	case errors.Is(err, model.ErrAuth):
		return "The model provider rejected the agent's API key. Contact the administrator of this agent.", true
	case errors.Is(err, model.ErrRateLimited):
		return "The model provider is receiving too many requests, or a quota is used up. " + tryAgain(err), true
	case errors.Is(err, model.ErrContextLength):
		return "The conversation is too long for the model. Go back to an earlier message, or start another session.", true
	case errors.Is(err, model.ErrUnsupported):
		return "The model does not support something in this conversation, such as a kind of file. Remove it, or choose another model.", true
	case errors.As(err, &api):
		return ofProvider(api), true
	}
	return ofStage(err, run)
}

// refusal is an error of the program's own checks, such as a guardrail.
type refusal interface {
	error
	// Refused tells the user why, in a sentence.
	Refused() string
}

func ofLimit(l *agent.LimitError) string {
	bound := strconv.FormatFloat(l.Bound, 'f', -1, 64)
	what := bound + " " + string(l.Limit)
	if l.Limit == toolset.LimitCost {
		what = "a cost of " + bound
	}
	return "This turn has reached its limit of " + what + ". Send another message to continue."
}

func ofProvider(e *model.APIError) string {
	switch {
	case e.Status == 0 && reached(e), e.Status/100 == 2:
		return "The model provider sent an answer that cannot be used. " + tryAgain(e)
	case e.Status == 0 && errors.Is(e, context.DeadlineExceeded):
		return "The model provider took too long. " + tryAgain(e)
	case e.Status == 0:
		return "The model provider cannot be reached. " + tryAgain(e)
	case e.Status == http.StatusRequestTimeout, e.Status == http.StatusGatewayTimeout:
		return "The model provider took too long. " + tryAgain(e)
	case e.Status == http.StatusServiceUnavailable, e.Status == 529:
		return "The model provider is overloaded. " + tryAgain(e)
	case e.Status >= 500:
		return "The model provider has failed. " + tryAgain(e)
	case e.Status == http.StatusPaymentRequired:
		return "The account at the model provider is out of credit. Contact the administrator of this agent."
	case e.Status == http.StatusNotFound:
		return "The model provider does not have this model. Choose another one, or contact the administrator of this agent."
	}
	return "The model provider rejected the request. Try a different message. " + tell
}

// reached reports whether an error without a status came from a provider that answered.
func reached(e *model.APIError) bool {
	return e.Err == nil && (e.Code != "" || e.Type != "" || e.Message != "")
}

// tryAgain says when.
func tryAgain(err error) string {
	wait := time.Minute
	if api, ok := errors.AsType[*model.APIError](err); ok && api.RetryAfter > 0 {
		wait = api.RetryAfter
	}
	switch minutes := (wait + time.Minute - 1) / time.Minute; {
	case wait <= time.Second:
		return "Try again in a second."
	case wait < time.Minute:
		return fmt.Sprintf("Try again in %d seconds.", (wait+time.Second-1)/time.Second)
	case minutes == 1:
		return "Try again in a minute."
	case minutes <= 120:
		return fmt.Sprintf("Try again in %d minutes.", minutes)
	}
	return fmt.Sprintf("Try again in %d hours.", (wait+time.Hour-1)/time.Hour)
}

// ofStage explains an error by the part of the run that failed.
func ofStage(err error, run *agent.RunError) (string, bool) {
	errors.As(err, &run)
	var network net.Error
	var address *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "The turn was cancelled.", true
	case errors.Is(err, context.DeadlineExceeded):
		return "The turn took too long. Ask for less at a time.", true
	case run != nil && run.Tool != "":
		return fmt.Sprintf("The tool %q has failed. Try again. %s", run.Tool, tell), true
	case run != nil && run.Stage == agent.StageModel:
		return "The model has failed. Try again in a minute. " + tell, true
	case run != nil && run.Stage == agent.StageOutput:
		return "The answer could not be checked. Try again. " + tell, true
	case errors.As(err, &network), errors.As(err, &address):
		return "Another server cannot be reached. Try again in a minute. " + tell, true
	case run != nil:
		return "The agent has failed. Try again. " + tell, true
	}
	return "", false
}
