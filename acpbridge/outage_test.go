// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
)

// lockable is a store to which nothing can be written while it is locked.
type lockable struct {
	*session.Memory
	locked atomic.Bool
	cause  error
}

func (s *lockable) busy(op string) error {
	if !s.locked.Load() {
		return nil
	}
	return &session.Error{Op: op, Err: s.cause}
}

func (s *lockable) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if err := s.busy("put"); err != nil {
		return session.Item{}, err
	}
	return s.Memory.Put(ctx, id, i)
}

func (s *lockable) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if err := s.busy("append"); err != nil {
		return 0, err
	}
	return s.Memory.Append(ctx, l, head, b)
}

// A prompt that cannot be recorded for too long is refused as an error of the store. It can be tried again if it is
// certain that the store does not have it. Nothing else is lost.
func TestPromptIsRefusedIfTheStoreStaysLocked(t *testing.T) {
	for cause, c := range map[error]struct {
		text  string
		again any
	}{
		session.ErrBusy:        {"host: the prompt is not recorded: session: append: the store is busy. Try again.", true},
		session.ErrUnavailable: {"host: it is not known whether the prompt is recorded: ", nil},
	} {
		t.Run(cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &lockable{Memory: new(session.Memory), cause: cause}
				config := config(t, modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two")))
				config.Host.Store = store
				e, id := start(t, config)
				requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "first"))
				store.locked.Store(true)
				second := e.sendPrompt(id, "second")
				time.Sleep(time.Minute)
				refused := e.answer(second)
				requireError(t, acp.CodeInternal, acpbridge.KindStore, refused)
				require.Contains(t, refused.Error.Message, c.text)
				require.Equal(t, c.again != nil, strings.HasSuffix(refused.Error.Message, ". Try again."))
				require.Equal(t, c.again, refused.Error.Data["retryable"])
				store.locked.Store(false)
				requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "third"))
				require.Contains(t, e.text(id), "two")
				require.NoError(t, e.stop())
			})
		})
	}
}
