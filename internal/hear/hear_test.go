// SPDX-License-Identifier: Apache-2.0

package hear_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/hear"
)

var errEnd = errors.New("ended")

func listen(ctx context.Context, b *hear.Board, closed <-chan struct{}) (next func() (string, error, bool), stop func()) {
	return iter.Pull2(b.Listen(ctx, closed, func(ended error) error { return errors.Join(errEnd, ended) }))
}

// TestListenersHearWhatIsToldMeanwhile has the ids in order, each once, and only what is new.
func TestListenersHearWhatIsToldMeanwhile(t *testing.T) {
	var b hear.Board
	b.Tell("before")
	next, stop := listen(t.Context(), &b, nil)
	defer stop()
	hears := func(want string) {
		t.Helper()
		id, err, ok := next()
		require.True(t, ok)
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
	hears("")
	b.Tell("b", "a")
	b.Tell("b")
	hears("a")
	hears("b")
	b.Tell("c")
	hears("c")
	b.Tell("d", "")
	b.Tell("e")
	hears("") // d and e are among them
	b.Tell("f")
	hears("f")
}

// TestTheEndOfListeningIsSaid has both ends. A goroutine that waits for either ends with it.
func TestTheEndOfListeningIsSaid(t *testing.T) {
	cause := errors.New("no longer")
	for name, end := range map[string]func(cancel context.CancelCauseFunc, closed chan struct{}){
		"context": func(cancel context.CancelCauseFunc, _ chan struct{}) { cancel(cause) },
		"closed":  func(_ context.CancelCauseFunc, closed chan struct{}) { close(closed) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var b hear.Board
				closed := make(chan struct{})
				var ids []string
				var last error
				done := make(chan struct{})
				go func() {
					defer close(done)
					for id, err := range b.Listen(ctx, closed, func(ended error) error { return errors.Join(errEnd, ended) }) {
						ids, last = append(ids, id), err
					}
				}()
				synctest.Wait()
				end(cancel, closed)
				<-done
				require.Equal(t, []string{"", ""}, ids)
				require.ErrorIs(t, last, errEnd)
				require.Equal(t, name == "context", errors.Is(last, cause))
				b.Tell("nobody hears it, and nothing blocks")
			})
		})
	}
}

// TestEveryListenerHearsEverything has two, of which one leaves.
func TestEveryListenerHearsEverything(t *testing.T) {
	var b hear.Board
	first, stopFirst := listen(t.Context(), &b, nil)
	second, stopSecond := listen(t.Context(), &b, nil)
	defer stopSecond()
	for _, next := range []func() (string, error, bool){first, second} {
		id, _, _ := next()
		require.Empty(t, id)
	}
	b.Tell("a")
	for _, next := range []func() (string, error, bool){first, second} {
		id, _, _ := next()
		require.Equal(t, "a", id)
	}
	stopFirst()
	b.Tell("b")
	id, _, _ := second()
	require.Equal(t, "b", id)
}
