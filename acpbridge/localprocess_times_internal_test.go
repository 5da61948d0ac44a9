// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// tireless is a command that ends after a while, and has always written more when it is asked for
// its output.
type tireless struct {
	ws.Process
	began time.Time
	lasts time.Duration
	more  bool
	asked []string // at what time, and from where on
}

func (p *tireless) Wait(ctx context.Context) (ws.Exit, error) {
	select {
	case <-time.After(p.lasts - time.Since(p.began)):
		return ws.Exit{Code: 3}, nil
	case <-ctx.Done():
		return ws.Exit{}, context.Cause(ctx)
	}
}

func (p *tireless) Output(_ context.Context, from int64, limit int) (ws.Chunk, error) {
	p.asked = append(p.asked, fmt.Sprint(time.Since(p.began), " ", from))
	if !p.more {
		return ws.Chunk{From: from}, nil
	}
	return ws.Chunk{From: from, Data: []byte(strings.Repeat("x", limit))}, nil
}

// reported returns a context of a tool call that runs a command.
func reported(t *testing.T) (context.Context, *noted) {
	client := &noted{}
	a := &report{ACPDeps: deps.ACPDeps{Client: client, Tracker: deps.NewTracker(client, "s", nil)}, id: "c", about: ws.Subject{Runs: true, Output: true}}
	a.held = acp.ToolCall{Title: "T"}
	return context.WithValue(t.Context(), reportKey{}, a), client
}

// Five times a second the output of a command is looked at, and once more when it has ended if
// there was any.
func TestOutputIsLookedAtFiveTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, client := reported(t)
		p := &tireless{began: time.Now(), lasts: 500 * time.Millisecond}
		exit, err := (&localProcess{p}).Wait(ctx)
		require.NoError(t, err)
		require.Equal(t, ws.Exit{Code: 3}, exit)
		require.Equal(t, []string{"200ms 0", "400ms 0"}, p.asked)
		require.Empty(t, client.got, "there is nothing to show")

		p = &tireless{began: time.Now(), lasts: time.Second}
		_, err = (&localProcess{p}).Wait(t.Context())
		require.NoError(t, err)
		require.Empty(t, p.asked, "nobody sees it")

		ctx, cancel := context.WithCancelCause(ctx)
		p = &tireless{began: time.Now(), lasts: time.Hour}
		gone := errors.New("gone")
		time.AfterFunc(300*time.Millisecond, func() { cancel(gone) })
		_, err = (&localProcess{p}).Wait(ctx)
		require.ErrorIs(t, err, gone)
		require.Equal(t, 300*time.Millisecond, time.Since(p.began))
		require.Equal(t, []string{"200ms 0"}, p.asked)
	})
}

// Of a command that writes without end, 32 pieces of 16 KiB are shown at once.
func TestACommandThatWritesMoreThanIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, client := reported(t)
		p := &tireless{began: time.Now(), lasts: 300 * time.Millisecond, more: true}
		_, err := (&localProcess{p}).Wait(ctx)
		require.NoError(t, err)
		var want []string
		for i := range 64 {
			want = append(want, fmt.Sprint(time.Duration(200+i/32*100)*time.Millisecond, " ", i*16<<10))
		}
		require.Equal(t, want, p.asked)
		require.Len(t, client.got, 64, "each piece is shown")
	})
}
