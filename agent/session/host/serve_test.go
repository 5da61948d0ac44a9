// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// patrolled is a store whose work ends at once.
type patrolled struct {
	shared
	mu    sync.Mutex
	at    []time.Time
	fails bool
}

func (p *patrolled) Work(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		p.mu.Lock()
		p.at = append(p.at, time.Now())
		p.mu.Unlock()
		if p.fails {
			yield("", errors.New("away"))
		}
	}
}

// A store that cannot tell what there is to do is asked again after half a second.
func TestServingLooksEachHalfSecond(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &patrolled{shared: shared{new(session.Memory)}, fails: fails}
			h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 1600*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, h.Serve(ctx), context.DeadlineExceeded)
			var at []time.Duration
			for _, when := range store.at {
				at = append(at, when.Sub(begun))
			}
			require.Equal(t, times(0, 500, 1000, 1500), at)
		})
	}
}

// A program with a single mode has its rules: which tools there are, what is asked about, and what the
// agent is told.
func TestTheOnlyModeHolds(t *testing.T) {
	edited, asked := 0, 0
	only := host.Mode{
		ID: "only", Title: "Only", Instructions: "Be careful.", Keep: func(tool string, _ toolset.Kind) bool { return tool == "edit" },
		Policy: func(_ *host.Session, next toolset.Asker) toolset.Asker {
			return toolset.AskerFuncs{OnAnswer: next.Answer, OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				asked++
				return toolset.Decision{Verdict: toolset.VerdictAllow, By: "the only mode"}, nil
			}}
		},
	}
	m := modeltest.Script(modeltest.Say(model.ToolCall("c", "edit", `{}`)), modeltest.SayText("done"))
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(m, editor(&edited)...), Modes: []host.Mode{only}}))
	require.NoError(t, prompt(t, s, "Edit.").Err)
	require.Equal(t, []int{1, 1}, []int{edited, asked})
	require.Equal(t, []string{"edit"}, offered(m.Requests()[0]))
	require.Contains(t, m.Requests()[0].Instructions, "Be careful.")
	require.Contains(t, shown(t, s), "Allowed by: the only mode")
}

// undoer is files whose undoing says something.
type undoer struct{ note string }

func (u *undoer) Mark(string, string) {}

func (u *undoer) Undo(context.Context, string) (string, error) { return u.note, nil }

// The model is told of the last sixteen times that files were taken back, each in 4,096 bytes.
func TestSixteenNotesOfFilesAreTold(t *testing.T) {
	const undone = "The user took back earlier messages and the changes of files that belong to them.\n"
	for _, times := range []int{1, 2, 15, 16, 17} {
		var told []string
		files := new(undoer)
		h := newHost(t, host.Config[none, string]{
			Store: durable{new(session.Memory)}, Files: func(none) host.Files { return files },
			Agent: newAgent(modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				told = nil
				for _, p := range req.Messages[len(req.Messages)-1].Parts {
					told = append(told, p.Text)
				}
				return model.Response(model.Text("so")), nil
			})),
		})
		s := create(t, h)
		o := prompt(t, s, "stay")
		require.NoError(t, o.Err)
		var want []string
		for n := range times {
			o := prompt(t, s, "go")
			require.NoError(t, o.Err)
			files.note = fmt.Sprint("note ", n)
			want = append(want, "["+undone+files.note+"]")
			_, err := s.Rewind(t.Context(), "prompt:"+o.Turn)
			require.NoError(t, err)
		}
		require.NoError(t, prompt(t, s, "what now").Err)
		require.Equal(t, append([]string{"what now"}, want[max(0, times-16):]...), told, times)
	}
	for size, cut := range map[int]bool{4095: false, 4096: false, 4097: true, 5000: true} {
		var told string
		files := &undoer{strings.Repeat("x", size-len(undone))}
		h := newHost(t, host.Config[none, string]{
			Store: durable{new(session.Memory)}, Files: func(none) host.Files { return files },
			Agent: newAgent(modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				parts := req.Messages[len(req.Messages)-1].Parts
				told = parts[len(parts)-1].Text
				return model.Response(model.Text("so")), nil
			})),
		})
		s := create(t, h)
		require.NoError(t, prompt(t, s, "stay").Err)
		o := prompt(t, s, "go")
		_, err := s.Rewind(t.Context(), "prompt:"+o.Turn)
		require.NoError(t, err)
		require.NoError(t, prompt(t, s, "what now").Err)
		want := "[" + undone + files.note + "]"
		if cut {
			want = "[" + undone + files.note[:4096-len(undone)] + "\n[More is not shown.]]"
		}
		require.Equal(t, want, told, size)
	}
}
