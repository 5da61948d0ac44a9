// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Engine executes the tasks of one run. The loop calls all methods on the run's goroutine.
//
// If a run is repeated from the beginning, and Begin and the tasks have the same results, then the
// loop starts the same tasks in the same order and makes the same history, in whatever order tasks
// that run side by side are done. An engine that records results need not record that order.
type Engine interface {
	// Begin is called once, before the first task. An error ends the run. A run that is repeated
	// must get the same again.
	Begin(ctx context.Context) (Beginning, error)
	// Start accepts a task. It does not block. The task is executed at the latest when it is waited for. The engine may use t and
	// what it points to until the future is done, but the loop reuses both afterwards. An error of the engine itself is the
	// task's error ([Done.Err]).
	Start(ctx context.Context, t *Task) Future
	// WaitAny blocks until one of the futures is done and returns its index. There is at least one future, and all are results
	// of Start. WaitAny calls l, on its own goroutine and one call at a time, with what running tasks report. It does not return
	// early when a context ends: the task does, and the run waits for it.
	WaitAny(futures []Future, l Listener) int
}

// Time is when a result was there, in nanoseconds since 1970, UTC. Zero means that it is not set. It is
// not a [time.Time], because each run that waits for its model has one.
type Time int64

// TimeOf returns a time. [Time.Time] returns it again, in UTC and without its monotonic reading.
func TimeOf(t time.Time) Time { return Time(t.UnixNano()) }

// Time returns the time.
func (t Time) Time() time.Time { return time.Unix(0, int64(t)).UTC() }

// Beginning is what an engine knows of a run before its first task.
type Beginning struct {
	// At is when the run began, in UTC. It is the time of the messages that are made before the
	// first result.
	At Time
	// RunID and ConversationID are fresh ids. They are used if the run was given none.
	RunID, ConversationID string
	// Fuse is set by engines whose tasks are expensive, such as engines based on a workflow
	// service. The loop then starts a single [OpStep] instead of an [OpPrepare], an [OpModel] and
	// an [OpCheck], unless the run is watched and must report each of them.
	Fuse bool
	// Continued is set by engines that execute a run in several parts, each with the history that
	// the one before has left, if the run began in an earlier part. The history may then contain
	// its own messages. Steps is the number of steps in the earlier parts: the loop continues the
	// count.
	Continued bool
	Steps     int
}

// Future is a task that was started.
type Future interface {
	// Done returns the result, or nil if there is none yet. It does not block. After WaitAny has returned the future's index,
	// it is not nil. The result is valid until the next call of Start.
	Done() *Done
}

// Listener receives what running tasks report. An error means that the run has been stopped.
type Listener interface {
	// Sink returns the function that receives the deltas of an [OpModel] whose Stream is set. It is
	// called once per task. Deltas then go straight to the run.
	Sink() model.Sink
	// Custom takes an event that user code emitted: a tool in the call c, or a history processor if c is nil.
	Custom(c *Call, value any) error
}

// Answerer is implemented by listeners that can have the questions of tools answered. A question goes to the listener of its task if the
// askers of the run and of its agent do not answer it. It is asked once per question, from any goroutine, until the task has ended.
// A ctx of a tool may be of any origin, so it must not be searched for values of the engine.
type Answerer interface {
	// Answer answers a question as [toolset.Asker] does.
	Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error)
}

// Worker executes tasks. Workers are safe for concurrent use.
type Worker interface {
	// Do executes a task and writes the result to done, which is zero before. It blocks until the task is done or has ended
	// because ctx did. Panics of user code become errors. Only runtime.Goexit, for example by a failed assertion of a test, keeps
	// Do from returning; the engine reports [ErrGoexit] then.
	//
	// Do may call l until it returns: from one goroutine at a time, or from several at once if the task's Emits is set.
	Do(ctx context.Context, t *Task, l Listener, done *Done)
}

// ErrGoexit is the error of a task that ended its goroutine.
var ErrGoexit = errors.New("runtime.Goexit was called, perhaps by a failed assertion of a test")
