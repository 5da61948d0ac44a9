// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/internal/elicit"
	"github.com/ponte-go/ponte/toolset"
)

// Question is a question that a tool has asked and that waits for [Run.Reply].
type Question struct {
	// ID identifies the question. It stays the same while the call is tried again on other workers.
	ID string `json:"id"`
	// Question is the question. Its Path has the ids of the calls that led to it, from the run that
	// the client started.
	Question toolset.Question `json:"question"`
	// Asked is when it was asked first.
	Asked time.Time `json:"asked,omitzero"`
}

// maxOpen is how many questions of a workflow are open at a time. Each has an update in flight, and
// a server permits ten. This leaves room for the updates of clients. Other questions wait for their
// turn, on their workers.
const maxOpen = 5

// A server permits an execution of a workflow 2,000 updates, and a question takes two at least.
// From manyAsked questions on, the workflow is continued as a new one after the step. A workflow
// with mostAsked questions is refused further ones, because their replies would not arrive.
const (
	manyAsked = 500
	mostAsked = 800
)

// The types of the errors with which a workflow refuses a question.
const (
	busyType = "ponte.Busy" // there are enough questions already
	goneType = "ponte.Gone" // nobody will answer it
)

// asked is a question in the workflow of the call that asks it. Its id is known to workers, and short.
type asked struct {
	Question
	task    string
	attempt int32 // the latest one that has asked
	waiters int   // how many handlers have begun to wait: the last of them counts
	reply   *toolset.Reply
	gone    bool
}

// insideRun is the running workflow of a call.
type insideRun struct {
	ID   string `json:"id"`
	Call string `json:"call"`
}

// openQuestions are the questions of a workflow, and where there may be more.
type openQuestions struct {
	Questions []Question  `json:"questions,omitempty"`
	Inside    []insideRun `json:"inside,omitempty"`
}

// askInput is a worker's question. ID is the same for the same question in each attempt of the
// call.
type askInput struct {
	ID       string           `json:"id"`
	Task     string           `json:"task"`
	Attempt  int32            `json:"attempt"`
	Question toolset.Question `json:"question"`
}

// askOutput has the reply, or none if it is no longer needed.
type askOutput struct {
	Reply *toolset.Reply `json:"reply,omitempty"`
}

// withdrawInput takes back a question.
type withdrawInput struct {
	ID      string `json:"id"`
	Attempt int32  `json:"attempt"`
}

// replyInput answers a question.
type replyInput struct {
	ID    string        `json:"id"`
	Reply toolset.Reply `json:"reply"`
}

// questionHandlers answers what workers and clients have to say about questions.
func (s *state) questionHandlers(ctx workflow.Context) error {
	err := workflow.SetQueryHandler(ctx, questionsQuery, func() (*openQuestions, error) { return s.open(), nil })
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, askUpdate, s.ask, workflow.UpdateHandlerOptions{Validator: s.mayAsk})
	}
	if err == nil {
		err = workflow.SetUpdateHandler(ctx, withdrawUpdate, s.withdraw)
	}
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, replyUpdate, s.takeReply, workflow.UpdateHandlerOptions{Validator: s.checkReply})
	}
	return err
}

// question returns a question that is known, or nil.
func (s *state) question(id string) *asked {
	for _, q := range s.questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// open returns the questions that wait for an answer.
func (s *state) open() *openQuestions {
	all := &openQuestions{Inside: s.inside}
	for _, q := range s.questions {
		if q.reply == nil {
			all.Questions = append(all.Questions, q.Question)
		}
	}
	return all
}

// mayAsk refuses questions of calls that have ended, and questions whose turn has not come. Refused
// questions leave no trace in the history.
func (s *state) mayAsk(in askInput) error {
	switch {
	case !slices.Contains(s.working, in.Task):
		return temporal.NewNonRetryableApplicationError("temporalengine: the call that asks has ended", goneType, nil)
	case slices.ContainsFunc(s.questions, func(q *asked) bool { return q.task == in.Task && q.attempt > in.Attempt }):
		return temporal.NewNonRetryableApplicationError("temporalengine: a later attempt of the call asks", goneType, nil)
	case s.asks >= mostAsked:
		return temporal.NewNonRetryableApplicationError("temporalengine: the calls of a step have asked too many questions", goneType, nil)
	case s.question(in.ID) == nil && len(s.open().Questions) >= maxOpen:
		return temporal.NewApplicationError("temporalengine: other questions wait already", busyType)
	}
	return nil
}

// ask waits for the reply to a question. A later attempt of the call comes back to the same question, and the handler of the
// earlier one ends.
func (s *state) ask(ctx workflow.Context, in askInput) (any, error) {
	s.asks++
	q := s.question(in.ID)
	if q == nil {
		// Drop the questions of earlier attempts that this attempt has not repeated.
		s.drop(func(q *asked) bool { return q.task == in.Task && q.attempt < in.Attempt && q.reply == nil })
		q = &asked{Question: Question{in.ID, in.Question, workflow.Now(ctx).UTC().Round(0)}, task: in.Task}
		s.questions = append(s.questions, q)
	}
	q.attempt = max(q.attempt, in.Attempt)
	q.waiters++
	mine := q.waiters
	if err := workflow.Await(ctx, func() bool { return q.reply != nil || q.gone || q.waiters != mine }); err != nil {
		s.drop(func(other *asked) bool { return other == q }) // the run was cancelled
		return askOutput{}, nil
	}
	return little(ctx, s.blobs, askOutput{Reply: q.reply}), nil
}

// withdraw takes back a question, because the tool does not wait any longer.
func (s *state) withdraw(_ workflow.Context, in withdrawInput) error {
	s.drop(func(q *asked) bool { return q.ID == in.ID && q.attempt <= in.Attempt && q.reply == nil })
	return nil
}

// drop forgets questions. Their handlers stop waiting.
func (s *state) drop(which func(*asked) bool) {
	s.questions = slices.DeleteFunc(s.questions, func(q *asked) bool {
		dropped := which(q)
		q.gone = q.gone || dropped
		return dropped
	})
}

// end notes that a task has ended: with it end its questions.
func (s *state) end(f *future) {
	s.working = slices.DeleteFunc(s.working, func(key string) bool { return key == f.key })
	s.inside = slices.DeleteFunc(s.inside, func(in insideRun) bool { return f.child && in.Call == f.task.Call.ID })
	s.drop(func(q *asked) bool { return q.task == f.key })
}

// settle ends the remaining questions. No handler may wait when the workflow ends.
func (s *state) settle(ctx workflow.Context) {
	s.working, s.inside = nil, nil
	s.drop(func(*asked) bool { return true })
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	_ = workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// checkReply refuses replies that nothing waits for, or that do not fit the question.
func (s *state) checkReply(in replyInput) error {
	q := s.question(in.ID)
	switch {
	case q == nil:
		return errors.New("temporalengine: no question with this id waits for an answer")
	case q.reply != nil:
		return errors.New("temporalengine: the question has been answered")
	}
	if err := fits(&q.Question.Question, &in.Reply); err != nil {
		return short(err)
	}
	return nil
}

// takeReply answers a question.
func (s *state) takeReply(_ workflow.Context, in replyInput) error {
	if q := s.question(in.ID); q != nil && q.reply == nil {
		q.reply = &in.Reply
	}
	return nil
}

// fits checks a reply. Forms that have other fields than elicitations may have are checked by the tool alone.
func fits(q *toolset.Question, r *toolset.Reply) error {
	switch r.Action {
	case toolset.ActionAccept:
	case toolset.ActionDecline, toolset.ActionCancel:
		if len(r.Content) > 0 {
			return fmt.Errorf("temporalengine: a reply with the action %q has no content", r.Action)
		}
		return nil
	default:
		return fmt.Errorf("temporalengine: unknown action %.40q: use accept, decline or cancel", r.Action)
	}
	if q.URL != "" {
		if len(r.Content) > 0 {
			return errors.New("temporalengine: the question is an address to visit, so its reply has no content")
		}
		return nil
	}
	given := r.Content
	if len(given) == 0 {
		given = json.RawMessage("{}")
	}
	var content elicit.Content
	if err := json.Unmarshal(given, &content); err != nil || content == nil {
		return errors.New("temporalengine: the content of the reply is not a JSON object")
	}
	form, err := elicit.Parse(q.Schema)
	if err != nil {
		return nil
	}
	if _, err := elicit.Check(form, content); err != nil {
		return fmt.Errorf("temporalengine: the reply does not fit the question: %w", err)
	}
	return nil
}
