// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// A process is killed in a call. The process that takes its turn up makes the call again if that
// only reads, or if its tool says that a second call has no effect. It asks about any other.
func TestCallsThatOnlyReadAreMadeAgain(t *testing.T) {
	for kind, again := range map[toolset.Kind]bool{
		toolset.KindRead: true, toolset.KindSearch: true, toolset.KindThink: true,
		toolset.KindFetch: true,
		toolset.KindEdit:  false, toolset.KindDelete: false, toolset.KindMove: false,
		toolset.KindExecute: false, toolset.KindOther: false, "": false,
	} {
		for _, idempotent := range []bool{false, true} {
			began := make(chan string, 2)
			options := []toolset.Option{toolset.OfKind(kind, "Act")}
			if idempotent {
				options = append(options, toolset.Idempotent())
			}
			act := func(hangs bool) *toolset.Tool[none] {
				return toolset.Func("act", "", func(
					ctx context.Context, run *toolset.RunContext[none], _ none,
				) (string, error) {
					began <- run.IdempotencyKey()
					if hangs {
						<-ctx.Done()
						return "", context.Cause(ctx)
					}
					return "acted", nil
				}, options...)
			}
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: newAgent(modeltest.Script(modeltest.Say(model.ToolCall("a", "act", `{}`))), act(true)),
				Store: durable{new(session.Memory)},
			}))
			wait(s, "Act.")
			first := <-began
			later := served(t, s, newAgent(modeltest.Script(modeltest.SayText("done")), act(false)))
			if again || idempotent {
				require.Equal(t, first, <-began, "%s: it is made again", kind)
			} else {
				q := open(t, later, "")
				require.Equal(t, "Run it again", q.Choices[0].Title, "%s: a person is asked", kind)
				require.Empty(t, began)
			}
			if again || idempotent {
				eventually(t, "the turn ends", func() bool {
					snapshot, _, err := later.Snapshot(t.Context())
					return err == nil && snapshot.Last(view.Message).Text() == "done"
				})
			}
			s.Cancel()
		}
	}
}
