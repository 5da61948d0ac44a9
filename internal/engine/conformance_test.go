// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
	native "github.com/ponte-go/ponte/internal/engine"
	"github.com/ponte-go/ponte/internal/loop"
)

func TestNativeEngineConforms(t *testing.T) {
	enginetest.Conformance(t, enginetest.Harness{Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		eng := native.New(l.Worker)
		return eng, eng.Close
	}})
}

// suiteOutputs are those of the conformance suite.
type suiteOutputs struct{}

func (suiteOutputs) Encode(output any) (string, []byte, bool) {
	out := output.(*engine.Output)
	return out.Type, out.Data, true
}

func (suiteOutputs) Decode(typ string, data []byte) (any, error) {
	return &engine.Output{Type: typ, Data: json.RawMessage(data)}, nil
}

func TestJournalEngineConforms(t *testing.T) {
	var runs journal.Memory
	enginetest.Conformance(t, enginetest.Harness{Durable: true, Open: func(t *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		log, err := runs.Open(t.Context(), l.RunID)
		require.NoError(t, err)
		eng, err := native.Open(t.Context(), &runs, log, l.Worker, &loop.Config{RunID: l.RunID, Meter: l.Meter, Steered: true}, "", suiteOutputs{})
		require.NoError(t, err)
		return eng, func() {
			eng.Close()
			require.NoError(t, log.Close())
		}
	}})
}

func TestRemoteEngineConforms(t *testing.T) {
	enginetest.Conformance(t, enginetest.Harness{Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		eng := enginetest.NewRemote(l.Worker, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, l.Worker, task, report)
		})
		return eng, eng.Close
	}})
}

func TestFusingEngineConforms(t *testing.T) {
	enginetest.Conformance(t, enginetest.Harness{Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		eng := enginetest.NewRemote(l.Worker, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, l.Worker, task, report)
		})
		eng.Fuse = true
		return eng, eng.Close
	}})
}

// TestChildProcessEngineConforms has each task of the suite executed by a process of its own.
func TestChildProcessEngineConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("each task runs in a process of its own")
	}
	child := program{Name: "suite"}
	enginetest.Conformance(t, enginetest.Harness{Open: func(_ *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		eng := enginetest.NewRemote(l.Worker, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			t, err := engine.UnmarshalTask(task)
			if err != nil {
				return nil, err
			}
			if err := l.Begin(ctx, t); err != nil {
				return nil, err
			}
			done, err := child.inChild(ctx, task, report)
			if ctx.Err() != nil {
				err = errors.Join(context.Cause(ctx), err)
			}
			return done, err
		})
		return eng, eng.Close
	}})
}
