// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// Journal executes tasks like [Native] and records their results. A task with a record is not executed: it is done at once with
// the recorded result. So a loop that starts again from the beginning reaches the place where it was cut off.
//
// The loop calls its methods on the run's goroutine. Results are recorded on the goroutines of the tasks, before the loop sees
// them.
type Journal struct {
	native *Native
	runs   journal.Journal
	log    journal.Log
	meter  *toolset.Meter
	codec  Codec
	start  start

	past past
	// began is when the run began.
	began time.Time
	// instructions belong to the last recorded request.
	instructions string

	// step is the step that the loop is in, numbers how many tasks there were for each key in it.
	step    int
	numbers map[key]int
	// asked are the approvals that were last asked for, by the ids of the calls of the step.
	asked map[string]*toolset.Approval
	inner []engine.Future

	mu sync.Mutex
	// live are the tasks that are being executed.
	live map[*engine.Task]*journaled

	// recorded sums up the existing records. endReplay ends their replay, for the meter; nil
	// afterwards. prepaid is the recorded usage of inner runs.
	recorded  recorded
	endReplay func()
	prepaid   prepaid
	ahead     []ahead

	keepLost bool
	// unprocessed is the history of the step before the processors, nil if there are none.
	unprocessed []*model.Message

	unread      [][]model.Part
	unreadAtEnd bool
}

var _ engine.Engine = (*Journal)(nil)

// conversation is implemented by logs that also keep the messages of the run, such as the logs of
// package transcript. Their records hold only results.
type conversation interface {
	// Sent is told the history before a request is made, on the run's goroutine, and what it was
	// before the processors, if there are any. The messages are shared and must not be changed.
	Sent(step int, before, history []*model.Message)
}

// Codec takes the outputs of a run to JSON and back.
type Codec interface {
	// Encode returns the output as JSON, and the name of its type if there are several. It reports false if Decode would
	// not give the very same output back.
	Encode(output any) (typ string, data []byte, ok bool)
	Decode(typ string, data []byte) (any, error)
}

// Open starts or resumes a run's journal. log belongs to the run. runs has the logs of its inner
// runs; it may be nil if there are none. cfg is the configuration of the loop. Its RunID must be
// set, and Open may set Steered. When the run has ended, the caller closes the engine and then the
// log.
func Open(ctx context.Context, runs journal.Journal, log journal.Log, worker engine.Worker, cfg *loop.Config, agent string, codec Codec) (*Journal, error) {
	j := &Journal{runs: runs, log: log, meter: cfg.Meter, codec: codec, numbers: map[key]int{}, asked: map[string]*toolset.Approval{}, live: map[*engine.Task]*journaled{}}
	j.native = New(&recorder{j, worker})
	begin, err := newStart(cfg, agent)
	if err != nil {
		return nil, &journal.Error{RunID: cfg.RunID, Op: "encode", Err: err}
	}
	j.start = *begin
	lines, err := log.Load(ctx)
	if err != nil {
		return nil, j.failed("load", err)
	}
	if len(lines) == 0 {
		j.began = now()
		_, err := j.write(ctx, &record{Op: opStart, At: j.began, Start: begin})
		return j, err
	}
	if err := j.load(lines); err != nil {
		return nil, j.failed("load", err)
	}
	cfg.Steered = cfg.Steered || j.start.Steered
	j.endReplay = toolset.Replay(j.meter, j.start.Run, func() toolset.Usage { return j.recorded.total(ctx, runs, j.start.Run) })
	j.meter.Add(j.recorded.lost)
	j.payLeft(ctx)
	return j, nil
}

// KeepLost has the journal record also requests that have failed and used nothing. It is for runs
// beside others: what those have counted of them is counted again when they are resumed, whether
// they have waited for them or not.
func (j *Journal) KeepLost() { j.keepLost = true }

// Close waits for the goroutines of abandoned tasks. See [Native.Close].
func (j *Journal) Close() {
	j.native.Close()
	j.prepaid.settle(false, func(place) bool { return true })
	if j.endReplay != nil {
		j.endReplay()
	}
}

// Complete is called when the run has ended with an output. It returns an error if the journal has
// further records.
func (j *Journal) Complete() error {
	if j.past.left > 0 {
		return j.diverged("replay ended in step %d, but %d records were not used", j.step, j.past.left)
	}
	return nil
}

// Unrecorded returns messages that came into the run and that could not be recorded, which ended it, and whether the run
// was at its end when it took them.
func (j *Journal) Unrecorded() (messages [][]model.Part, atEnd bool) { return j.unread, j.unreadAtEnd }

func (j *Journal) failed(op string, err error) error {
	return &journal.Error{RunID: j.start.Run, Op: op, Err: err}
}

func (j *Journal) diverged(format string, args ...any) error {
	return j.failed("replay", fmt.Errorf("%w: "+format, append([]any{journal.ErrDiverged}, args...)...))
}

// journaled is the future of a task.
type journaled struct {
	// done is set if the result is there already, record if it was recorded; seq is the record's place.
	done *engine.Done
	seq  int
	// inner is the native future of a task that is executed.
	inner engine.Future
	// record describes the running task; its time is set at the end.
	record record
	// again is the record of a task that is executed although it has one.
	again *record
	// ctx is the context of a task that is executed.
	ctx context.Context
}

// Done implements [engine.Future].
func (f *journaled) Done() *engine.Done {
	if f.done != nil {
		return f.done
	}
	return f.inner.Done()
}

// Start implements [engine.Engine].
func (j *Journal) Start(ctx context.Context, t *engine.Task) engine.Future {
	switch t.Op {
	case engine.OpPrepare, engine.OpCheck, engine.OpPreview: // the recorder knows which parts of them have records
		return &journaled{inner: j.native.Start(ctx, t)}
	}
	k := j.keyOf(t)
	f := &journaled{record: record{Op: k.op, Step: k.step, Call: k.call, Approved: k.approved, N: k.n}}
	if t.Call != nil {
		f.record.Tool = t.Call.Tool
	}
	past := j.past.take(k)
	if err := j.follows(t, k, past); err != nil {
		f.done = &engine.Done{Err: err}
		return f
	}
	if k.op == opModel {
		j.request(&f.record, t.Request, past)
	}
	switch {
	case past != nil && !past.Again:
		done, err := past.done(j.codec)
		if err != nil {
			done = &engine.Done{Err: j.failed("replay", err)}
		}
		f.done, f.seq, f.record.Used = done, past.seq, past.Used
		return f
	case past == nil && k.op == opInbox && j.past.begun(k.step):
		f.done = &engine.Done{} // nothing had come in
		return f
	}
	f.again, f.ctx = past, ctx
	if c, ok := j.log.(conversation); ok && k.op == opModel {
		c.Sent(k.step, j.unprocessed, t.Request.Messages)
	}
	j.mu.Lock()
	j.live[t] = f
	j.mu.Unlock()
	f.inner = j.native.Start(ctx, t)
	return f
}

// WaitAny implements [engine.Engine]. Recorded results come first, in the order in which they
// were recorded: observers see it.
func (j *Journal) WaitAny(futures []engine.Future, l engine.Listener) int {
	first := -1
	var live *journaled
	j.inner = j.inner[:0]
	for i := range futures {
		f := futures[i].(*journaled)
		if f.done == nil {
			if j.inner = append(j.inner, f.inner); f.ctx != nil {
				live = f
			}
		} else if first < 0 || f.seq < futures[first].(*journaled).seq {
			first = i
		}
	}
	if first < 0 {
		if live != nil {
			j.caughtUp(live.ctx, j.step, true)
		}
		first = j.native.WaitAny(j.inner, l)
		r := &futures[first].(*journaled).record
		j.takeBack(place{r.Step, r.Call})
	} else if used := futures[first].(*journaled).record.Used; used != nil {
		j.meter.Add(*used)
	}
	return first
}

// Begin implements [engine.Engine].
func (j *Journal) Begin(context.Context) (engine.Beginning, error) {
	id := func(n int) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", j.start.Seed, n))
		return base32.StdEncoding.EncodeToString(sum[:])[:26]
	}
	return engine.Beginning{At: engine.TimeOf(j.began), RunID: id(2), ConversationID: id(1)}, nil
}
