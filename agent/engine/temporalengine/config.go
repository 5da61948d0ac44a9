// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// Config configures the agent that a worker runs. Name, Agent and Blobs are required.
type Config[D, O any] struct {
	// Name is the name of the workflow's type. Clients start runs by it.
	Name string
	// Agent is the agent. All workers of a task queue must have the same one. The calls of a run
	// may be executed by different workers, so tools that keep state in memory are refused with a
	// [*toolset.InMemoryError]: at registration if they are known by then, otherwise by the first
	// step that would offer them, which ends the run.
	Agent *agent.Agent[D, O]
	// Blobs keeps histories, and whatever is too large for an event.
	Blobs Blobs
	// Deps makes the dependencies of a run on this worker, when the first activity of the run comes
	// here. They serve all activities of the run on this worker. Nil gives zero dependencies. ctx
	// ends when they are no longer needed, and after Release. An error fails the activity, which is
	// tried again: up to Activity.Attempts times, with growing pauses, for five minutes by default.
	// An error of [temporal.NewNonRetryableApplicationError] fails the run at once.
	Deps func(ctx context.Context, in Input) (D, error)
	// Release frees dependencies when no activity of the run has come for Idle, and when the worker stops. It may be nil.
	Release func(ctx context.Context, d D) error
	// Options are options for all runs, such as a model, or an asker that decides by policy. Questions that the asker does not answer
	// wait for Run.Reply. The options must not differ between workers. Those that Input or this package sets are refused:
	// history, prompt, metadata, run id, results, inbox, meter, engine, journal.
	Options []agent.RunOption
	// Tool configures how the calls of a tool are executed. Nil means [DefaultActivity] for all of
	// them. It must give the same answer each time.
	Tool func(name string) Activity
	// Step configures how steps are executed. Each step is one request to the model. The zero value
	// means [DefaultActivity]. Steps are never local.
	Step Activity
	// Transcripts, if not nil, gets the messages of each run, in a session with the id of the run,
	// one entry each. Other programs can follow a run with [session.Watcher], from any position on.
	// The calls that a run waits for are not part of it: see Run.State. It must be set for all
	// workers or for none. Messages that history processors change or take away later stay as they
	// were. A run fails if its id names a session that has other entries or is held. If an operator
	// resets the workflow, the transcript keeps the original messages and lacks as many of the new
	// ones.
	Transcripts session.Store
	// Versioning is for workers with Temporal's Worker Versioning: whether a run stays with the
	// version of the worker that it began on, or goes on on newer ones. Zero means that it stays.
	Versioning workflow.VersioningBehavior
	// Idle is after how long without an activity the dependencies of a run are released. Zero means 5 minutes.
	Idle time.Duration
}

// Activity configures how something is executed.
type Activity struct {
	// Local executes it in the workflow's process, which takes a tenth of the time because events
	// are written only at the end. It is executed again if the worker ends before that is recorded.
	// A step has at most 250 local calls; further calls are not local. Local calls cannot ask
	// questions.
	Local bool
	// Timeout bounds an attempt, with the time that it waits for replies to its questions. Zero means 10 minutes.
	Timeout time.Duration
	// Heartbeat is after how long without a sign of life the worker counts as lost. Zero means 30 seconds. Local ones have none.
	Heartbeat time.Duration
	// Attempts bounds how often it is tried if workers are lost or it takes too long. Zero means 10.
	Attempts int32
	// TaskQueue names another queue, for workers with other resources. Empty means the workflow's
	// queue. The workers of a queue can share a rate limit: see TaskQueueActivitiesPerSecond of the
	// options of Temporal's workers.
	TaskQueue string
	// Child has the calls of a tool that was made with [agent.AsTool] executed by child workflows.
	// It is the Config.Name of the inner agent, which is registered with the workers of the queue.
	// The inner agent's own configuration makes its dependencies; Input.Metadata is the same as the
	// run's. Without Child, the inner agent runs within the activity of the call, which begins anew
	// if the worker is lost. Of the other fields, only Timeout and TaskQueue count. Zero Timeout
	// means no bound. The policies of the run must be installed in the inner agent or in its
	// Config.Options, too, by their names. With a policy that decides about calls, such as guards
	// of calls or results, Child is an error of the run.
	Child string
}

// DefaultIdle is how long dependencies of a run that is idle are kept, if the configuration does not say.
const DefaultIdle = 5 * time.Minute

// DefaultActivity is how steps and calls are executed if nothing else is said.
var DefaultActivity = Activity{Timeout: 10 * time.Minute, Heartbeat: 30 * time.Second, Attempts: 10}

// orDefault fills in what is not set.
func (a Activity) orDefault() Activity {
	if a.Timeout == 0 {
		a.Timeout = DefaultActivity.Timeout
	}
	if a.Heartbeat == 0 {
		a.Heartbeat = DefaultActivity.Heartbeat
	}
	if a.Attempts == 0 {
		a.Attempts = DefaultActivity.Attempts
	}
	return a
}

// Input is the input of a run. It is stored with the workflow.
type Input struct {
	// ID is the id of the workflow and of the run. Empty makes one. A second run with the id of a
	// running one is refused, and a run whose History has messages of another run with this id
	// fails with [agent.ErrRunID].
	ID string `json:"id,omitempty"`
	// Prompt is the text of the prompt. Use Parts for other content.
	Prompt string       `json:"prompt,omitempty"`
	Parts  []model.Part `json:"parts,omitempty"`
	// History holds the earlier messages of the conversation.
	History []*model.Message `json:"history,omitempty"`
	// ConversationID identifies the conversation, if it has an id.
	ConversationID string `json:"conversation_id,omitempty"`
	// User is who the run is for: see [Index].
	User string `json:"user,omitempty"`
	// Limits bound the run, in addition to the agent's limits.
	Limits toolset.Limits `json:"limits,omitzero"`
	// Metadata is for Config.Deps and for tools, such as who has asked. It must not hold secrets. It goes with each activity, and with each request of the
	// history, so it should be small.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// State is how far a run is.
type State struct {
	// Messages is the history. While a step or its calls run, it is the history at the beginning of
	// the step.
	Messages []*model.Message `json:"messages,omitempty"`
	// Usage is the run's usage so far.
	Usage toolset.Usage `json:"usage,omitzero"`
	// Pending are the calls that wait for an answer. The run waits for all of them.
	Pending []agent.PendingCall `json:"pending,omitempty"`
	// Questions come from running calls, including calls of inner agents, the oldest first.
	// [Run.Reply] answers them.
	Questions []Question `json:"questions,omitempty"`
	// Refused says why the answers that were given last did not fit, if they did not. The calls wait again.
	Refused string `json:"refused,omitempty"`
	// Unread are the messages that came too late for a run that has ended.
	Unread [][]model.Part `json:"unread,omitempty"`
}

func (c *Config[D, O]) check() error {
	var errs []error
	if c.Agent == nil {
		errs = append(errs, errors.New("temporalengine: Config.Agent is nil"))
	}
	if c.Name == "" {
		errs = append(errs, errors.New("temporalengine: Config.Name is empty: it is the name by which clients start runs"))
	}
	if c.Blobs == nil {
		errs = append(errs, errors.New("temporalengine: Config.Blobs is nil: set a store of blobs that all workers and clients share"))
	}
	if c.Step.Local {
		errs = append(errs, errors.New("temporalengine: Config.Step is local: requests to models take too long for that"))
	}
	if c.Step.Child != "" {
		errs = append(errs, errors.New("temporalengine: Config.Step has a Child: that is for calls of tools"))
	}
	if c.Agent != nil {
		if err := toolset.Stateless(c.Agent.Toolset()).(toolset.Checker).Check(); err != nil {
			errs = append(errs, fmt.Errorf("temporalengine: Config.Agent: %w", err))
		}
	}
	return errors.Join(append(errs, checkOptions(c.Options)...)...)
}
