// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// slow holds up one kind of work, once.
type slow struct {
	what             atomic.Value // a string
	entered, release chan struct{}
}

func (s *slow) hold(what string) {
	if s.what.CompareAndSwap(what, "") {
		s.entered <- struct{}{}
		<-s.release
	}
}

// slowSpace is a workspace whose files and commands take their time.
type slowSpace struct {
	workspace.Workspace
	*slow
}

func (w slowSpace) Read(
	ctx context.Context, path string, r workspace.Range,
) (workspace.File, error) {
	w.hold("read")
	return w.Workspace.Read(ctx, path, r)
}

func (w slowSpace) Write(
	ctx context.Context, path string, data []byte, v workspace.Version,
) (workspace.Version, error) {
	w.hold("write")
	return w.Workspace.Write(ctx, path, data, v)
}

func (w slowSpace) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	w.hold("start")
	p, err := w.Workspace.Start(ctx, c)
	return slowProcess{p, w.slow}, err
}

type slowProcess struct {
	workspace.Process
	*slow
}

func (p slowProcess) Wait(ctx context.Context) (workspace.Exit, error) {
	p.hold("wait")
	return p.Process.Wait(ctx)
}

func (p slowProcess) Kill(ctx context.Context) error {
	p.hold("kill")
	return p.Process.Kill(ctx)
}

func (p slowProcess) Close(ctx context.Context) error {
	p.hold("close")
	return p.Process.Close(ctx)
}

// Whatever takes its time, the next message of the same session is handled meanwhile, and the
// answer comes when it is done.
func TestSlowWorkHoldsNoMessageUp(t *testing.T) {
	const terminal = `{"sessionId":"s","terminalId":"%s"}`
	inSession := askCity
	for _, c := range []struct{ what, method, params string }{
		{"read", acp.MethodReadTextFile, `{"sessionId":"s","path":"/repo/a.txt"}`},
		{"write", acp.MethodWriteTextFile, `{"sessionId":"s","path":"/repo/a.txt","content":"x"}`},
		{"start", acp.MethodCreateTerminal, `{"sessionId":"s","command":"make"}`},
		{"wait", acp.MethodWaitForTerminalExit, terminal},
		{"kill", acp.MethodKillTerminal, terminal},
		{"close", acp.MethodReleaseTerminal, terminal},
		{"permission", acp.MethodRequestPermission, `{"sessionId":"s","toolCall":{"toolCallId":"c"},` +
			`"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}`},
		{"elicitation", acp.MethodCreateElicitation, inSession},
		{"elicitation", acp.MethodCreateElicitation, strings.Replace(inSession, `"sessionId":"s"`,
			`"requestId":"p"`, 1)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{entered: make(chan struct{}), release: make(chan struct{})}
			var order []string
			config := acpclient.Config{
				Workspace: slowSpace{newWorkspace(t, workspace.MemoryPrint("", 0)), s},
				Permission: func(
					_ context.Context, r *acpclient.PermissionRequest,
				) (acp.PermissionOptionID, error) {
					s.hold("permission")
					return r.Option(acp.PermissionOptionKindAllowOnce), nil
				},
				Elicitation: func(
					context.Context, *acpclient.Elicitation,
				) (acpclient.Answer, error) {
					s.hold("elicitation")
					return acpclient.Answer{Action: toolset.ActionDecline}, nil
				},
			}
			session := begin(t, config, func(a *raw) {
				a.open()
				p := a.await("session/prompt")
				params := c.params
				if c.params == terminal {
					made := string(a.create(`"command":"make"`).Result)
					_, id, _ := strings.Cut(made, `"terminalId":"`)
					id, _, _ = strings.Cut(id, `"`)
					params = fmt.Sprintf(terminal, id)
				}
				params = strings.Replace(params, `"requestId":"p"`, `"requestId":`+string(p.ID), 1)
				of := `{"sessionId":"s"}`
				if strings.Contains(params, "requestId") {
					of = `{}`
				}
				synctest.Wait() // nobody looks at the command any more
				s.what.Store(c.what)
				a.write(`{"jsonrpc":"2.0","id":"slow","method":%q,"params":%s}`, c.method, params)
				<-s.entered
				a.write(`{"jsonrpc":"2.0","id":"next","method":"_next","params":%s}`, of)
				order = append(order, string(a.next().ID))
				close(s.release)
				m := a.next()
				order = append(order, string(m.ID), fmt.Sprint(m.Error))
				a.answer(p, endTurn)
				a.wait()
			})
			_, err := session.Say(t.Context(), "hello")
			require.NoError(t, err)
			require.Equal(t, []string{`"next"`, `"slow"`, fmt.Sprint((*acp.Error)(nil))}, order, c.method)
		})
	}
}
