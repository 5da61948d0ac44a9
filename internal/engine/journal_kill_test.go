// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
)

var (
	kills    = flag.Int("kills", 20, "how many runs are killed with kill -9")
	killSeed = flag.Uint64("killseed", 0, "which runs; 0 picks some")
	killTime = flag.Duration("killtime", 4*time.Second, "when to stop, if there are fewer than 300 runs")
)

const childEnv = "PONTE_JOURNAL_CHILD"

// TestMain runs the child of a kill test if this process is one.
func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		if err := child(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if spec := os.Getenv(taskEnv); spec != "" {
		if err := executeTask(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(legEnv) != "" {
		if err := executeLeg(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// life is what a child is told.
type life struct {
	Dir    string
	Seed   uint64
	Life   int
	Append int // which append it dies at, counted from 1; 0 waits to be killed
	How    int // before it, after it, or in the middle of it
}

// child lives one life of a story: it starts it or takes it up, and goes on to its end if it is let.
func child(spec string) error {
	var l life
	if err := json.Unmarshal([]byte(spec), &l); err != nil {
		return err
	}
	side, err := os.OpenFile(filepath.Join(l.Dir, "side"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	dir, err := journal.NewDir(filepath.Join(l.Dir, "runs"))
	if err != nil {
		return err
	}
	s := &story{seed: l.Seed, life: l.Life, side: side}
	a := s.agent(fatal{})
	fmt.Println("ready")
	res, err := a.Run(context.Background(), storyDeps{}, "go", s.options(agent.WithJournal(&suicidal{Journal: dir, life: &l}))...)
	if err != nil {
		return err
	}
	data, err := json.Marshal(tell(res))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "told"), data, 0o600)
}

// fatal is a testing.TB for a process that is no test.
type fatal struct{ testing.TB }

func (fatal) Helper()                   {}
func (fatal) Errorf(f string, a ...any) { fmt.Fprintf(os.Stderr, f, a...) }
func (fatal) FailNow()                  { os.Exit(1) }

// suicidal is a journal that kills its process with kill -9 at a given append.
type suicidal struct {
	journal.Journal
	life    *life
	appends atomic.Int64
}

func (s *suicidal) Open(ctx context.Context, run string) (journal.Log, error) {
	l, err := s.Journal.Open(ctx, run)
	return suicidalLog{l, s}, err
}

type suicidalLog struct {
	journal.Log
	s *suicidal
}

func (l suicidalLog) Append(ctx context.Context, record []byte) error {
	die := l.s.life.Append > 0 && int(l.s.appends.Add(1)) == l.s.life.Append
	switch {
	case die && l.s.life.How == 0:
		die9()
	case die && l.s.life.How == 1: // a torn line
		file, err := os.OpenFile(filepath.Join(l.s.life.Dir, "runs", "story.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		torn := fmt.Appendf(nil, `{"n":7,"sum":"01234567","rec":%s`, record[:len(record)/2])
		if info, err := file.Stat(); err != nil || info.Size() == 0 {
			torn = []byte(`{"n":0,"sum":"`) // the header comes first
		}
		if _, err := file.Write(torn); err != nil {
			return err
		}
		die9()
	}
	err := l.Log.Append(ctx, record)
	if die && err == nil {
		die9()
	}
	return err
}

func die9() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// TestKilledRunsResume kills processes with kill -9 at random times and places, and has other processes go on.
// Repeat the proof at its full size with -kills 300.
func TestKilledRunsResume(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	t.Logf("-killseed %d", seed)
	var figures figures
	begin := time.Now()
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for {
				n := int(next.Add(1))
				if n > *kills || *kills < 300 && time.Since(begin) > *killTime {
					return
				}
				if !t.Run(fmt.Sprint(seed+uint64(n)), func(t *testing.T) {
					for try := uint64(1); !killed(t, seed+uint64(n), try, &figures); try++ { // it had ended before it was killed
						require.Less(t, try, uint64(100))
					}
				}) {
					return
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d runs in %v: %d processes, %d killed, %d of them in the middle of a write; %d records; %d executions, %d repeated that had not been recorded, "+
		"%d repeated that had been, %d recorded results lost", figures.runs.Load(), time.Since(begin).Round(time.Millisecond), figures.lives.Load(), figures.killed.Load(),
		figures.torn.Load(), figures.records.Load(), figures.executed.Load(), figures.again.Load(), figures.repeated.Load(), figures.lost.Load())
	require.Zero(t, figures.repeated.Load())
	require.Zero(t, figures.lost.Load())
	require.GreaterOrEqual(t, figures.runs.Load(), int64(3))
}

type figures struct {
	runs, lives, killed, torn, records, executed, again, repeated, lost atomic.Int64
}

// killed runs a story in processes that are killed, until one comes to its end. It reports whether any was killed.
func killed(t *testing.T, seed, try uint64, f *figures) bool {
	want := &story{seed: seed}
	res, err := want.agent(t).Run(context.Background(), storyDeps{}, "go", want.options()...)
	require.NoError(t, err)
	undisturbed := tell(res)
	undisturbed.marks()

	r := rand.New(rand.NewPCG(seed, try))
	dir := t.TempDir()
	var records []string
	firstMark := map[string]string{} // of what is recorded
	planned, deaths := 1+r.IntN(4), 0
	for n := 0; ; n++ {
		l := life{Dir: dir, Seed: seed, Life: n}
		delay := time.Duration(r.IntN(30000)) * time.Microsecond
		switch {
		case n >= planned:
			delay = time.Minute
		case r.IntN(2) == 0:
			delay, l.Append, l.How = time.Minute, 1+r.IntN(12), r.IntN(3)
		}
		died := live(t, l, delay)
		f.lives.Add(1)
		if died {
			deaths++
			f.killed.Add(1)
			if l.Append > 0 && l.How == 1 {
				f.torn.Add(1)
			}
		}
		done := map[string]bool{}
		for _, name := range names(t, records) {
			done[name] = true
		}
		for _, e := range executions(t, dir) {
			if e.life == fmt.Sprint(n) && done[e.name] {
				f.repeated.Add(1)
				t.Errorf("life %d executed %s, which was recorded", n, e.name)
			}
		}
		after := recordsIn(t, dir)
		if len(after) < len(records) || strings.Join(after[:len(records)], "\n") != strings.Join(records, "\n") {
			f.lost.Add(1)
			t.Errorf("life %d lost records:\n%s\nthere were\n%s", n, strings.Join(after, "\n"), strings.Join(records, "\n"))
		}
		records = after
		for name, mark := range recordedMarks(t, records) {
			if firstMark[name] == "" {
				firstMark[name] = mark
			}
		}
		if !died {
			break
		}
	}
	if deaths == 0 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(dir, "told"))
	require.NoError(t, err)
	var got told
	require.NoError(t, json.Unmarshal(data, &got))
	marks := got.marks()
	for name, mark := range firstMark {
		if marks[strings.TrimSuffix(name, "/approved")] != mark {
			f.lost.Add(1)
			t.Errorf("the result of %s in the history is of execution %s, the first that was recorded of %s", name, marks[name], mark)
		}
	}
	require.Equal(t, undisturbed.Output, got.Output)
	require.Equal(t, undisturbed.Requests, got.Requests)
	require.Equal(t, undisturbed.Tokens, got.Tokens)
	require.Equal(t, show(t, undisturbed.Messages), show(t, got.Messages))

	all := executions(t, dir)
	distinct := map[string]bool{}
	for _, e := range all {
		distinct[e.name] = true
	}
	f.runs.Add(1)
	f.records.Add(int64(len(records)))
	f.executed.Add(int64(len(all)))
	f.again.Add(int64(len(all) - len(distinct)))
	return true
}

// live has a process live and reports whether it was killed before it came to its end.
func live(t *testing.T, l life, delay time.Duration) (died bool) {
	t.Helper()
	spec, err := json.Marshal(l)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(spec), "GOCOVERDIR="+l.Dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, _ = bufio.NewReader(out).ReadString('\n')
	timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, -1, exit.ExitCode(), "the process was not killed: %s", stderr.String())
	require.Less(t, delay, 2*time.Minute)
	return true
}

type execution struct{ life, name string }

// executions are what the processes have done.
func executions(t *testing.T, dir string) []execution {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "side"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	var all []execution
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 3)
		all = append(all, execution{fields[0], fields[1]})
	}
	return all
}

// recordsIn returns the records that a process left.
func recordsIn(t *testing.T, dir string) []string {
	t.Helper()
	d, err := journal.NewDir(filepath.Join(dir, "runs"))
	require.NoError(t, err)
	return raw(t, d, "story")
}

// recordedMarks returns the marks of the results that records hold.
func recordedMarks(t *testing.T, records []string) map[string]string {
	t.Helper()
	marks := map[string]string{}
	for i, name := range names(t, records) {
		var r struct {
			Response struct{ Metadata map[string]string }
			Return   struct{ Meta string }
		}
		require.NoError(t, json.Unmarshal([]byte(records[i]), &r))
		if mark := r.Response.Metadata["mark"] + r.Return.Meta; mark != "" {
			marks[name] = mark
		}
	}
	return marks
}
