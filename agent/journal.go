// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/agent/journal"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/loop"
	"github.com/ponte-go/ponte/toolset"
)

// WithJournal records the result of each step of the run. If the journal has records of the run, the run is resumed: completed
// model requests and tool calls are not made again. [WithRunID] identifies the run. Without it, the journal starts a new run.
// Nil means no journal. Package journal describes what must stay the same when a run is resumed, and what is done again.
//
// Runs inside tools ([AsTool], [HandOver], [Within]) have their own records, under the ids of the
// run, its step and the call. A failure of the journal ends the run with a [*journal.Error].
func WithJournal(j journal.Journal) RunOption {
	return runOption(func(o *runOptions) {
		more := o.more()
		if more.journal, o.runOn = nil, nil; j != nil {
			more.journal, o.runOn = prepaying{j}, journaled
		}
	})
}

// prepaying is the journal of a run. Its methods are here, because a field of the options would make every program larger.
type prepaying struct {
	journal.Journal
}

// prepayer is implemented by prepaying.
type prepayer interface {
	// prepay counts ahead what runs inside a call have recorded. The returned function settles what they do not use.
	prepay(ctx context.Context, m *toolset.Meter, run string, step int, call string) (settle func(keep bool))
	// insideID returns the id of the n-th run in a call.
	insideID(run string, step int, call string, n int) string
}

func (p prepaying) prepay(ctx context.Context, m *toolset.Meter, run string, step int, call string) (settle func(keep bool)) {
	return native.Prepay(ctx, p.Journal, m, run, step, call)
}

func (p prepaying) insideID(run string, step int, call string, n int) string {
	return native.InsideID(run, step, call, n)
}

// journaled is a [runFunc].
func journaled(ctx context.Context, side runSide, codec native.Codec, o *runOptions, agent string, cfg *loop.Config) (*loop.Result, error) {
	return journaledAs(ctx, side, codec, o, agent, cfg, func(*native.Journal) {})
}

// besides is journaled for runs beside others, and for those inside them.
func besides(ctx context.Context, side runSide, codec native.Codec, o *runOptions, agent string, cfg *loop.Config) (*loop.Result, error) {
	return journaledAs(ctx, side, codec, o, agent, cfg, (*native.Journal).KeepLost)
}

func journaledAs(
	ctx context.Context, side runSide, codec native.Codec, o *runOptions, agent string, cfg *loop.Config, as func(*native.Journal),
) (*loop.Result, error) {
	if cfg.RunID == "" {
		cfg.RunID = rand.Text()
	}
	notRun := cfg.NotRun()
	defer func() { native.Inside(ctx, cfg.RunID, cfg.Meter.Usage()) }()
	log, err := o.journal.Open(ctx, cfg.RunID)
	if err != nil {
		return notRun, &journal.Error{RunID: cfg.RunID, Op: "open", Err: err}
	}
	defer log.Close() // everything is recorded already
	eng, err := native.Open(ctx, o.journal, log, side, cfg, agent, codec)
	if err != nil {
		return notRun, err
	}
	defer eng.Close()
	as(eng)
	res, err := loop.Run(ctx, eng, side, cfg)
	if messages, atEnd := eng.Unrecorded(); len(messages) > 0 {
		o.inbox.giveBack(messages, atEnd)
	}
	if err == nil {
		err = eng.Complete()
	}
	return res, err
}

// Encode implements [native.Codec].
func (o *output[D, O]) Encode(value any) (typ string, data []byte, ok bool) {
	var err error
	back, err := func() (back any, err error) {
		defer recovered(&err)
		if data, err = json.Marshal(value); err != nil {
			return nil, err
		}
		if isInterface := reflect.TypeFor[O]().Kind() == reflect.Interface; isInterface && value != nil {
			typ = reflect.TypeOf(value).String()
		}
		return o.Decode(typ, data)
	}()
	if err != nil || !reflect.DeepEqual(back, value) {
		return "", nil, false
	}
	return typ, data, true
}

// Decode implements [native.Codec].
func (o *output[D, O]) Decode(typ string, data []byte) (value any, err error) {
	defer recovered(&err)
	target := reflect.TypeFor[O]()
	if typ != "" {
		if target = o.typeOf(typ); target == nil {
			return nil, fmt.Errorf("%w: no alternative of the output is of type %s", journal.ErrDiverged, typ)
		}
	}
	decoded := reflect.New(target)
	if err := json.Unmarshal(data, decoded.Interface()); err != nil {
		return nil, fmt.Errorf("%w: the output does not fit its type: %w", journal.ErrDiverged, err)
	}
	value = decoded.Elem().Interface()
	if _, ok := value.(O); !ok {
		return nil, fmt.Errorf("%w: %T is not an output", journal.ErrDiverged, value)
	}
	return value, nil
}

// typeOf returns the type of a given name among those that the alternatives are made of, pointers to them included.
func (o *output[D, O]) typeOf(name string) reflect.Type {
	for i := range o.alternatives {
		switch t := o.alternatives[i].typ; name {
		case t.String():
			return t
		case "*" + t.String():
			return reflect.PointerTo(t)
		}
	}
	if t := reflect.TypeFor[string](); o.text != nil && name == t.String() {
		return t
	}
	return nil
}

// isJournalError reports whether the journal ended a run.
func isJournalError(err error) bool { return errs.As(err, new(*journal.Error)) }
