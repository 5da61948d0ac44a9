// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/engine"
)

// answerPrefix begins the keys of answers to the calls that a run has left pending.
const answerPrefix = "pending/"

// isAnswer reports whether an entry is the answer to a pending call.
func isAnswer(e *session.Entry) bool {
	return e.Kind == session.KindDecision && strings.HasPrefix(e.Key, answerPrefix)
}

// Answer records the answer to a call that the history leaves pending: what answers say of it. When
// it returns, the answer survives the end of the process. Pass it to the turn that resumes the run,
// too: see [agent.WithResults].
func (c *Conversation) Answer(ctx context.Context, call *agent.PendingCall, answers agent.DeferredResults) error {
	c.answering.Lock()
	defer c.answering.Unlock()
	run := ""
	if n := len(c.h.Messages); n > 0 {
		run = c.h.Messages[n-1].RunID
	}
	e, err := answerEntry(c.w.Session(), run, call, answers)
	if err != nil {
		return err
	}
	if _, err = c.w.Append(ctx, e); err == nil {
		c.answered = append(c.answered, e)
	}
	return err
}

// answerEntry returns the entry for the answer to a call that a run has left pending.
func answerEntry(
	conversation, run string, call *agent.PendingCall, answers agent.DeferredResults,
) (session.Entry, error) {
	var b body
	if r, ok := answers.Results[call.Key()]; ok {
		b.Result = encoded(r)
	} else if d, ok := answers.Decisions[call.Key()]; ok {
		b.Decision = encoded(d)
	} else {
		return session.Entry{}, fmt.Errorf("transcript: answer: there is none for call %q", call.Key())
	}
	b.Call, b.Tool, b.Conversation = call.Key(), call.Tool, conversation
	if call.Approval != nil {
		b.Shown = encoded(call.Approval)
	}
	data, err := marshal(b)
	if err != nil {
		return session.Entry{}, fmt.Errorf("transcript: answer: %w", err)
	}
	return session.Entry{
		Kind: session.KindDecision, Time: now(), Run: run, Key: answerPrefix + b.Call, Data: data,
	}, nil
}

// Answers returns the answers to pending calls that have been recorded and that no run has carried
// out. If the process ended after the last one, calls that were allowed are not among them: they
// are pending again, with [agent.PendingCall].MayHaveRun. If none was allowed, all are pending again.
func (c *Conversation) Answers() agent.DeferredResults { return c.h.answers }

// Decided records a decision about a call of a tool while a run waits for it: the turn's run, or
// one inside it. When it returns, the decision survives the end of the process.
func (t *Turn) Decided(ctx context.Context, run string, step int, call, tool string, d model.Decision) error {
	data, err := marshal(engine.NewAnswer(step, call, tool, now(), &d))
	if err != nil {
		return fmt.Errorf("transcript: answer: %w", err)
	}
	key := fmt.Sprintf("%d/%s/%s", step, engine.RecordAnswer, call)
	_, err = t.c.w.Append(ctx, session.Entry{Kind: session.KindStep, Run: run, Key: key, Data: data})
	return err
}

// isAnswered reports whether the record of an entry is an answer.
func isAnswered(e *session.Entry, line []byte) bool {
	if e.Kind != session.KindStep {
		return false
	}
	r := engine.ReadRecord(line)
	return r != nil && r.Op == engine.RecordAnswer
}

func encoded(value any) json.RawMessage {
	data, err := marshal(value)
	if err != nil {
		return json.RawMessage("null") // arguments that are not JSON, which are refused before
	}
	return data
}

func now() time.Time { return time.Now().UTC().Round(0) }
