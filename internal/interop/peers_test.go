// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

//go:embed npm/client.mjs
var typeScriptDriver string

// typeScript connects with @agentclientprotocol/sdk.
func typeScript(t testing.TB, agent []string, h handler) peer {
	t.Helper()
	cmd := exec.Command("node", append([]string{"--input-type=module", "--eval", typeScriptDriver, "--"}, agent...)...)
	cmd.Dir = node(t) // where the driver's imports are looked for
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	return startDriver(t, cmd, h)
}

// unstableTypeScript is typeScript with the SDK's unstable methods.
func unstableTypeScript(t testing.TB, agent []string, h handler) peer {
	t.Helper()
	cmd := exec.Command("node", append([]string{"--input-type=module", "--eval", typeScriptDriver, "--"}, agent...)...)
	cmd.Dir = node(t)
	cmd.Env = cleanEnv("HOME="+t.TempDir(), "ACP_UNSTABLE=1")
	return startDriver(t, cmd, h)
}

//go:embed python/client.py
var pythonDriver string

// pythonSDK connects with agent-client-protocol.
func pythonSDK(t testing.TB, agent []string, h handler) peer {
	t.Helper()
	cmd := exec.Command(python(t), append([]string{"-I", "-c", pythonDriver}, agent...)...)
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	return startDriver(t, cmd, h)
}

// goSDK connects with github.com/coder/acp-go-sdk, in this process.
func goSDK(t testing.TB, agent []string, h handler) peer {
	t.Helper()
	cmd := exec.Command(agent[0], agent[1:]...)
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, startGroup(t, cmd)); err != nil {
		t.Fatal(err)
	}
	p := &goPeer{cmd: cmd, hangUp: stdin.Close}
	p.conn = sdk.NewClientSideConnection(goClient{h}, stdin, stdout)
	p.conn.SetLogger(slog.New(slog.NewTextHandler(&p.log, nil)))
	return p
}

type goPeer struct {
	cmd    *exec.Cmd
	conn   *sdk.ClientSideConnection
	hangUp func() error
	log    lockedText
}

func (p *goPeer) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	switch method {
	case "initialize":
		return goCall(ctx, p.conn.Initialize, params)
	case "session/new":
		return goCall(ctx, p.conn.NewSession, params)
	case "session/prompt":
		return goCall(ctx, p.conn.Prompt, params)
	case "session/close":
		return goCall(ctx, p.conn.CloseSession, params)
	}
	return nil, fmt.Errorf("no method for %s", method)
}

func (p *goPeer) notify(method string, params any) error {
	if method != "session/cancel" {
		return fmt.Errorf("no method for %s", method)
	}
	var n sdk.CancelNotification
	if err := json.Unmarshal(mustMarshal(params), &n); err != nil {
		return err
	}
	return p.conn.Cancel(context.Background(), n)
}

func (p *goPeer) close() ([]string, error) {
	_ = p.hangUp()
	err := awaitExit(p.cmd, p.conn.Done())
	var problems []string
	for line := range strings.Lines(p.log.String()) {
		if !strings.Contains(line, "level=INFO") { // such as that the connection has ended
			problems = append(problems, line)
		}
	}
	return problems, err
}

// goCall calls a method of the SDK with parameters and a result in its own types.
func goCall[P, R any](ctx context.Context, method func(context.Context, P) (R, error), params any) (json.RawMessage, error) {
	var p P
	if err := json.Unmarshal(mustMarshal(params), &p); err != nil {
		return nil, err
	}
	result, err := method(ctx, p)
	if failure, ok := errors.AsType[*sdk.RequestError](err); ok {
		return nil, &rpcError{Code: failure.Code, Message: failure.Message, Data: mustMarshal(failure.Data)}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// goClient hands what the SDK calls to a handler.
type goClient struct{ handler handler }

var _ sdk.Client = goClient{}

func goAnswer[R any](c goClient, method string, params any) (result R, err error) {
	answer, failure := c.handler.request(method, mustMarshal(params))
	if failure != nil {
		return result, &sdk.RequestError{Code: failure.Code, Message: failure.Message}
	}
	return result, json.Unmarshal(mustMarshal(answer), &result)
}

func (c goClient) ReadTextFile(_ context.Context, p sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	return goAnswer[sdk.ReadTextFileResponse](c, "fs/read_text_file", p)
}

func (c goClient) WriteTextFile(_ context.Context, p sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	return goAnswer[sdk.WriteTextFileResponse](c, "fs/write_text_file", p)
}

func (c goClient) RequestPermission(_ context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	return goAnswer[sdk.RequestPermissionResponse](c, "session/request_permission", p)
}

func (c goClient) SessionUpdate(_ context.Context, p sdk.SessionNotification) error {
	c.handler.notification("session/update", mustMarshal(p))
	return nil
}

func (c goClient) CreateTerminal(_ context.Context, p sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return goAnswer[sdk.CreateTerminalResponse](c, "terminal/create", p)
}

func (c goClient) TerminalOutput(_ context.Context, p sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return goAnswer[sdk.TerminalOutputResponse](c, "terminal/output", p)
}

func (c goClient) WaitForTerminalExit(_ context.Context, p sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return goAnswer[sdk.WaitForTerminalExitResponse](c, "terminal/wait_for_exit", p)
}

func (c goClient) KillTerminal(_ context.Context, p sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return goAnswer[sdk.KillTerminalResponse](c, "terminal/kill", p)
}

func (c goClient) ReleaseTerminal(_ context.Context, p sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return goAnswer[sdk.ReleaseTerminalResponse](c, "terminal/release", p)
}

// lockedText collects text of several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
