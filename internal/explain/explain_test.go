// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/explain"
	"github.com/ponte-go/ponte/toolset"
)

// refusal is an error of a program's own checks.
type refusal struct{ error }

func (refusal) Refused() string { return "That is not allowed here." }

// What people are told of each error, and how long they are to wait.
func TestErrorsInPlainWords(t *testing.T) {
	const (
		log    = " If it happens again, contact the administrator of this agent: its log has the details."
		secret = "key sk-123 at https://internal.example"
	)
	api := func(status int) *model.APIError { return &model.APIError{Status: status, Message: secret} }
	late := func(after time.Duration) error {
		return fmt.Errorf("x: %w", &model.APIError{Status: 503, Message: secret, RetryAfter: after})
	}
	run := func(stage agent.Stage, tool string, err error) error {
		return &agent.RunError{Stage: stage, Tool: tool, Err: err}
	}
	other := errors.New(secret)
	for i, c := range []struct {
		err  error
		want string
	}{
		{refusal{other}, "That is not allowed here."},
		{fmt.Errorf("x: %w", refusal{model.ErrAuth}), "That is not allowed here."},
		{&agent.PanicError{Value: secret}, "The agent failed because of a bug. Contact its administrator: its log has the details."},
		{&agent.LimitError{Limit: toolset.LimitRequests, Bound: 3}, "This turn has reached its limit of 3 " + string(toolset.LimitRequests) + ". Send another message to continue."},
		{&agent.LimitError{Limit: toolset.LimitCost, Bound: 0.25}, "This turn has reached its limit of a cost of 0.25. Send another message to continue."},
		{&agent.PriceError{}, "The cost of this turn cannot be limited because the price of the model is unknown. Contact the administrator of this agent."},
		{agent.ErrTokenLimit, "The model hit its token limit before finishing. Ask for less at a time."},
		{agent.ErrIncompleteToolCall, "The model hit its token limit before finishing. Ask for less at a time."},
		{agent.ErrRefused, "The model refused to answer. Rephrase your message."},
		{agent.ErrContentFilter, "The model's provider withheld the answer. Rephrase your message."},
		{agent.ErrResponseFailed, "The model's provider failed in the middle of its answer. Try again."},
		{&agent.PendingError{}, "A tool call is waiting for an answer that cannot be given here."},
		{&agent.BudgetError{Tool: "look_up"}, `The model could not use the tool "look_up" correctly. Try again, or rephrase your message.`},
		{&agent.BudgetError{}, "The model did not give a usable answer. Try again, or rephrase your message."},
		{model.ErrAuth, "The model provider rejected the agent's API key. Contact the administrator of this agent."},
		{model.ErrRateLimited, "The model provider is receiving too many requests, or a quota is used up. Try again in a minute."},
		{model.ErrContextLength, "The conversation is too long for the model. Go back to an earlier message, or start another session."},
		{model.ErrUnsupported, "The model does not support something in this conversation, such as a kind of file. Remove it, or choose another model."},
		{api(0), "The model provider sent an answer that cannot be used. Try again in a minute."},
		{&model.APIError{Code: "x"}, "The model provider sent an answer that cannot be used. Try again in a minute."},
		{&model.APIError{Type: "x"}, "The model provider sent an answer that cannot be used. Try again in a minute."},
		{api(200), "The model provider sent an answer that cannot be used. Try again in a minute."},
		{api(299), "The model provider sent an answer that cannot be used. Try again in a minute."},
		{&model.APIError{}, "The model provider cannot be reached. Try again in a minute."},
		{&model.APIError{Message: "x", Err: other}, "The model provider cannot be reached. Try again in a minute."},
		{&model.APIError{Err: context.DeadlineExceeded}, "The model provider took too long. Try again in a minute."},
		{api(408), "The model provider took too long. Try again in a minute."},
		{api(504), "The model provider took too long. Try again in a minute."},
		{api(503), "The model provider is overloaded. Try again in a minute."},
		{api(529), "The model provider is overloaded. Try again in a minute."},
		{api(500), "The model provider has failed. Try again in a minute."},
		{api(599), "The model provider has failed. Try again in a minute."},
		{api(402), "The account at the model provider is out of credit. Contact the administrator of this agent."},
		{api(404), "The model provider does not have this model. Choose another one, or contact the administrator of this agent."},
		{api(400), "The model provider rejected the request. Try a different message." + log},
		{api(499), "The model provider rejected the request. Try a different message." + log},
		{late(time.Nanosecond), "The model provider is overloaded. Try again in a second."},
		{late(time.Second), "The model provider is overloaded. Try again in a second."},
		{late(time.Second + 1), "The model provider is overloaded. Try again in 2 seconds."},
		{late(59 * time.Second), "The model provider is overloaded. Try again in 59 seconds."},
		{late(time.Minute), "The model provider is overloaded. Try again in a minute."},
		{late(time.Minute + 1), "The model provider is overloaded. Try again in 2 minutes."},
		{late(2 * time.Hour), "The model provider is overloaded. Try again in 120 minutes."},
		{late(2*time.Hour + 1), "The model provider is overloaded. Try again in 3 hours."},
		{late(3 * time.Hour), "The model provider is overloaded. Try again in 3 hours."},
		{context.Canceled, "The turn was cancelled."},
		{run(agent.StageModel, "x", context.Canceled), "The turn was cancelled."},
		{context.DeadlineExceeded, "The turn took too long. Ask for less at a time."},
		{run(agent.StageTool, "look_up", other), `The tool "look_up" has failed. Try again.` + log},
		{run(agent.StageModel, "", other), "The model has failed. Try again in a minute." + log},
		{run(agent.StageOutput, "", other), "The answer could not be checked. Try again." + log},
		{run(agent.StagePrepare, "", other), "The agent has failed. Try again." + log},
		{run(agent.StagePrepare, "", &net.DNSError{Name: secret}), "Another server cannot be reached. Try again in a minute." + log},
		{&net.OpError{Op: "dial", Err: other}, "Another server cannot be reached. Try again in a minute." + log},
		{&url.Error{Op: "Get", URL: secret, Err: other}, "Another server cannot be reached. Try again in a minute." + log},
	} {
		text, known := explain.Known(c.err)
		require.True(t, known, "%d: %v", i, c.err)
		require.Equal(t, c.want, text, "%d: %v", i, c.err)
		require.Equal(t, c.want, explain.Error(c.err))
	}
	for _, err := range []error{nil, other} {
		text, known := explain.Known(err)
		require.False(t, known)
		require.Empty(t, text)
		require.Equal(t, "The agent has failed. Try again."+log, explain.Error(err))
	}
}
