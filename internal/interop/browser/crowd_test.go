// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// TestStopIsNotHeldUpByOtherTabs has 30 tabs in sight, 12 of which stream, at a server as programs have it.
func TestStopIsNotHeldUpByOtherTabs(t *testing.T) {
	deep(t)
	s := server{mode: "real"}
	s.start(t)
	defer s.kill()
	driveAt(t, "thirty", "http://"+s.addr+"/", nil)
}

// TestStopIsNotHeldUpByOtherTabsInFirefox does the same in another browser, where only the tab in
// front is in sight.
func TestStopIsNotHeldUpByOtherTabsInFirefox(t *testing.T) {
	deep(t)
	firefox := executable(t, "FIREFOX", "firefox-esr", "firefox-esr", "firefox")
	dir, err := install()
	if err != nil {
		missing(t, err)
	}
	s := server{mode: "real"}
	s.start(t)
	defer s.kill()
	cmd := exec.CommandContext(t.Context(), "node", "firefox.mjs", "http://"+s.addr+"/")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FIREFOX="+firefox)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// talker is a model that talks until it is stopped.
type talker struct{}

func (talker) Info() model.Info { return model.Info{Name: "talker"} }

func (talker) Generate(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
		if err := sink(model.Delta{Kind: model.PartText, Text: fmt.Sprintf("word%d ", i)}); err != nil {
			return nil, err
		}
	}
}

// realMain serves an agent that talks until it is stopped.
func realMain(addr string) int {
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host: host.Config[struct{}, string]{Agent: agent.Must(agent.New(agent.Config[struct{}, string]{Model: talker{}})), Store: new(session.Memory)},
		Options: webbridge.Options{
			Page: webbridge.Page(), User: func(*http.Request) (string, error) { return "ada", nil },
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("http://%s/\n", l.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(l, h))
	return 1
}
