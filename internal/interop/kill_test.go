// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

var (
	kills    = flag.Int("kills", 3, "how often TestKilledAgentLosesNothing kills the agent")
	killSeed = flag.Uint64("kill-seed", 0, "the seed of TestKilledAgentLosesNothing; 0 takes one of the clock")
)

// killable is the built agent with a client of package acpclient.
type killable struct {
	*acpclient.Client
	t      *testing.T
	cmd    *exec.Cmd
	killed atomic.Bool
}

// startKillable starts the agent with a store. The client serves files and commands, and allows everything. tap is called with every line
// of either side.
func startKillable(t *testing.T, store string, files workspace.Workspace, tap func(a *killable)) *killable {
	t.Helper()
	command := ideagent("-store", store)
	a := &killable{t: t, cmd: exec.Command(command[0], command[1:]...)}
	a.cmd.Env = cleanEnv("HOME=" + filepath.Dir(store))
	in, err1 := a.cmd.StdinPipe()
	out, err2 := a.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, startGroup(t, a.cmd)); err != nil {
		t.Fatal(err)
	}
	config := acpclient.Config{Workspace: files, Permission: acpclient.AllowAll, StartTimeout: patience}
	if tap != nil {
		config.Conn.Tap = func(acp.Direction, []byte) { tap(a) }
	}
	var err error
	if a.Client, err = acpclient.Connect(t.Context(), out, in, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.end)
	return a
}

// kill is kill -9.
func (a *killable) kill() {
	a.killed.Store(true)
	_ = a.cmd.Process.Kill()
}

// end waits for the end of an agent that was killed, or kills it.
func (a *killable) end() {
	if a.cmd.ProcessState == nil {
		a.kill()
		_ = a.Close()
		_ = a.cmd.Wait()
	}
}

// terminalText returns what the commands of a client's session have written.
func terminalText(s *view.Snapshot) func(string) string {
	return func(id string) string {
		if e := s.Get("command:" + id); e != nil {
			return e.Text()
		}
		return ""
	}
}

// TestKilledAgentLosesNothing kills the built agent at random points, while several sessions work. The side effects of tools are counted in a
// file: a step that the client was told of is there afterwards, and none is done twice. Repeat the proof at its full size with -kills 200.
func TestKilledAgentLosesNothing(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-kill-seed %d", seed)
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := local.Open(local.Config{Roots: []string{work}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	k := &killing{t: t, work: work, store: filepath.Join(t.TempDir(), "sessions"), files: files, told: map[int]bool{}, sessions: make([]busySession, 3)}
	for n := range *kills {
		k.round(rand.New(rand.NewPCG(seed, uint64(n))))
	}
	last := startKillable(t, k.store, files, nil)
	for i := range k.sessions {
		k.reopen(last, &k.sessions[i])
	}
	k.count()
	t.Logf("%d agents killed: %d sessions, %d turns whole and %d cut off, %d commands, %d of them told as done",
		*kills, k.made, k.whole, k.cut, k.next, len(k.told))
}

// killing is the state of the test.
type killing struct {
	t           *testing.T
	work, store string
	files       workspace.Workspace
	sessions    []busySession
	made        int

	mu         sync.Mutex
	next       int          // the number of the next command
	told       map[int]bool // commands that the client was told are done
	whole, cut int          // turns
}

// busySession is a session whose turns are cut off.
type busySession struct {
	id    acp.SessionID // "" before it is made
	kills int
	shown map[string]string // by id, what the client saw last and must see again
	began map[string]bool   // ids of tool calls that were not ended
}

// round starts an agent, checks what has become of the sessions, and kills the agent in the middle of new work.
func (k *killing) round(random *rand.Rand) {
	var (
		mu    sync.Mutex
		left  = -1 // lines of either side until the kill; negative while nobody works
		pause time.Duration
	)
	a := startKillable(k.t, k.store, k.files, func(a *killable) {
		mu.Lock()
		defer mu.Unlock()
		if left < 0 {
			return
		}
		if left--; left < 0 {
			if pause == 0 {
				a.kill()
			} else {
				time.AfterFunc(pause, a.kill)
			}
		}
	})
	open := make([]*acpclient.Session, len(k.sessions))
	for i := range k.sessions {
		open[i] = k.reopen(a, &k.sessions[i])
	}
	k.count()
	mu.Lock()
	left = random.IntN(1500)
	if random.IntN(2) == 0 { // after a line, where it can be anywhere
		pause = time.Duration(1+random.IntN(3000)) * time.Microsecond
	}
	mu.Unlock()
	var turns sync.WaitGroup
	for _, s := range open {
		turns.Go(func() { k.busy(a, s) })
	}
	turns.Wait()
	a.end()
	for i, s := range open {
		k.sessions[i].remember(s.Snapshot(), k)
	}
}

// busy runs turns until the agent is gone. Each has commands that leave a line in a file, and files that are written and read.
func (k *killing) busy(a *killable, s *acpclient.Session) {
	for {
		k.mu.Lock()
		n := k.next
		k.next += 2
		k.mu.Unlock()
		_, err := s.Say(k.t.Context(), fmt.Sprintf("run \"echo %[1]d >> did.txt && echo did %[1]d\", then create f%[1]d.txt with \"some text\", "+
			"then replace some with more in f%[1]d.txt, then run \"echo %[2]d >> did.txt && echo did %[2]d\", then read f%[1]d.txt", n, n+1))
		k.mu.Lock()
		if err == nil {
			k.whole++
		} else {
			k.cut++
		}
		k.mu.Unlock()
		if err != nil {
			if !a.killed.Load() {
				k.t.Errorf("a turn failed before the agent was killed: %v", err)
			}
			return
		}
	}
}

// remember keeps what a client was shown when the agent was killed: the turns before the last, and the tool calls of the last that had ended.
func (b *busySession) remember(s *view.Snapshot, k *killing) {
	b.kills++
	b.shown, b.began = map[string]string{}, map[string]bool{}
	last := 0
	all := slices.Collect(s.All())
	for i, e := range all {
		if e.Kind == view.Message && e.Role == view.User {
			last = i
		}
	}
	for i, e := range all {
		switch {
		case e.Kind == view.ToolCall && !e.Status.Ended():
			b.began[e.ID] = true
		case e.Kind == view.ToolCall || e.Kind == view.Message && i < last:
			b.shown[e.ID] = foldedEntity(e, terminalText(s))
		}
		if n := 0; e.Kind == view.ToolCall && e.Status == view.Completed {
			if _, err := fmt.Sscanf(e.Title, "echo %d", &n); err == nil {
				k.told[n] = true
			}
		}
	}
}

// reopen loads a session with a new agent, and compares what it shows with what was shown before. Then the next prompt has to work. It makes a
// new session in place of one that has seen many kills.
func (k *killing) reopen(a *killable, b *busySession) *acpclient.Session {
	k.t.Helper()
	if b.id == "" || b.kills == 10 {
		s, err := a.NewSession(k.t.Context(), acpclient.SessionConfig{Cwd: k.work})
		if err != nil {
			k.t.Fatal(err)
		}
		*b = busySession{id: s.ID()}
		k.made++
		return s
	}
	s, err := a.LoadSession(k.t.Context(), b.id, acpclient.SessionConfig{Cwd: k.work})
	if err != nil {
		k.t.Fatalf("session %s does not load after kill -9: %v", b.id, err)
	}
	snapshot := s.Snapshot()
	for id, want := range b.shown {
		switch e := snapshot.Get(id); {
		case e == nil:
			k.t.Errorf("lost after kill -9: %s", want)
		default:
			if got := foldedEntity(e, terminalText(snapshot)); got != want {
				k.t.Errorf("changed after kill -9:\n%s\nwas\n%s", got, want)
			}
		}
	}
	for e := range snapshot.Of(view.ToolCall) {
		if !e.Status.Ended() && e.Status != view.Pending { // nobody knows whether it had an effect: it waits for an answer
			k.t.Errorf("a tool call runs on after kill -9: %s", foldedEntity(e, terminalText(snapshot)))
		}
	}
	turn, err := s.Say(k.t.Context(), "help")
	if err != nil || turn.StopReason != acp.StopReasonEndTurn {
		k.t.Fatalf("the prompt after kill -9: %v, %v", turn, err)
	}
	snapshot = s.Snapshot()
	for e := range snapshot.Of(view.ToolCall) {
		if !e.Status.Ended() {
			k.t.Errorf("a tool call waits on after a prompt that did not answer it: %s", foldedEntity(e, terminalText(snapshot)))
		}
	}
	return s
}

// count compares the file with what was done: each command at most once, and those that were told as done exactly once.
func (k *killing) count() {
	data, err := os.ReadFile(filepath.Join(k.work, "did.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.t.Fatal(err)
	}
	did := map[int]int{}
	for line := range strings.Lines(string(data)) {
		var n int
		if _, err := fmt.Sscan(line, &n); err != nil {
			k.t.Fatalf("%q in did.txt: %v", line, err)
		}
		did[n]++
	}
	for n, times := range did {
		if times > 1 {
			k.t.Errorf("command %d was run %d times", n, times)
		}
	}
	for n := range k.told {
		if did[n] != 1 {
			k.t.Errorf("command %d was told as done, and ran %d times", n, did[n])
		}
	}
}
