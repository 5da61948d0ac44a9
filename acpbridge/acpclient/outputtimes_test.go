// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// timed is a command that writes at given times, and notes what is asked of it.
type timed struct {
	writes []written
	exit   time.Duration // 0 means never
	how    workspace.Exit
	keeps  int   // bytes of the end; 0 means all
	broken error // of every look

	began time.Time
	calls []string
}

// timedMu guards what timed commands note, and how they are broken.
var timedMu sync.Mutex

func (p *timed) breaks(err error) {
	timedMu.Lock()
	defer timedMu.Unlock()
	p.broken = err
}

func (p *timed) noted() []string {
	timedMu.Lock()
	defer timedMu.Unlock()
	return slices.Clone(p.calls)
}

type written struct {
	at   time.Duration
	text string
}

func (p *timed) note(format string, args ...any) {
	p.calls = append(p.calls, fmt.Sprintf("%v ", time.Since(p.began))+fmt.Sprintf(format, args...))
}

func (p *timed) Ref() string { return "timed" }

func (p *timed) Output(_ context.Context, from int64, limit int) (workspace.Chunk, error) {
	timedMu.Lock()
	defer timedMu.Unlock()
	p.note("output %d %d", from, limit)
	if p.broken != nil {
		return workspace.Chunk{}, p.broken
	}
	var all []byte
	for _, w := range p.writes {
		if time.Since(p.began) >= w.at {
			all = append(all, w.text...)
		}
	}
	c := workspace.Chunk{End: int64(len(all))}
	if from < 0 {
		from = max(c.End+from, 0)
	}
	low := int64(0)
	if p.keeps > 0 {
		low = max(c.End-int64(p.keeps), 0)
	}
	c.From, c.Lost = max(from, low), from < low
	if c.Data = all[c.From:]; limit > 0 && len(c.Data) > limit {
		c.Data = c.Data[:limit]
	}
	if p.exit > 0 && time.Since(p.began) >= p.exit {
		c.Exit = &p.how
	}
	return c, nil
}

func (p *timed) Wait(ctx context.Context) (workspace.Exit, error) {
	timedMu.Lock()
	broken := p.broken
	timedMu.Unlock()
	if broken != nil {
		return workspace.Exit{}, broken
	}
	var over <-chan time.Time
	if p.exit > 0 {
		over = time.After(p.exit - time.Since(p.began))
	}
	select {
	case <-over:
		return p.how, nil
	case <-ctx.Done():
		return workspace.Exit{}, context.Cause(ctx)
	}
}

func (p *timed) Kill(context.Context) error {
	timedMu.Lock()
	defer timedMu.Unlock()
	p.note("kill")
	return p.broken
}

func (p *timed) Close(ctx context.Context) error {
	timedMu.Lock()
	defer timedMu.Unlock()
	deadline, _ := ctx.Deadline()
	p.note("close within %v", time.Until(deadline))
	return nil
}

// starts is a workspace whose commands are all the same process.
type starts struct {
	*workspace.Memory
	process *timed
}

func (w *starts) Start(context.Context, workspace.Command) (workspace.Process, error) {
	w.process.began = time.Now()
	return w.process, nil
}

// runs has an agent start the command, and calls look at each of the times.
func runs(t *testing.T, p *timed, look func(a *raw, terminal string, s *acpclient.Session)) {
	t.Helper()
	session := make(chan *acpclient.Session, 1)
	s := begin(t, acpclient.Config{Permission: acpclient.AllowAll, Workspace: &starts{newWorkspace(t, nil), p}}, func(a *raw) {
		a.open()
		a.turn(func() {
			var created struct{ TerminalID string }
			_ = json.Unmarshal(a.call("terminal/create", `{"sessionId":"s","command":"go"}`).Result, &created)
			look(a, created.TerminalID, <-session)
		})
		a.wait()
	})
	session <- s
	_, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
}

// brief writes runs of a letter with their length.
func brief(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 1
		for i+n < len(text) && text[i+n] == text[i] {
			n++
		}
		if n > 9 {
			fmt.Fprintf(&b, "%c*%d", text[i], n)
		} else {
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// What a command writes is shown 50 ms after its start and every 50 ms from then on, as far as it is whole characters.
// At most 4 MiB are looked at at once. Between the beginning and the end of a long output it says what is left out.
func TestOutputsAreShownAtTheirTimes(t *testing.T) {
	x := func(letter string, n int) string { return strings.Repeat(letter, n) }
	const ms, kib = time.Millisecond, 1 << 10
	const left = "\n[The end of the output is shown when the command has ended.]\n"
	for name, c := range map[string]struct {
		p     timed
		shown []string // by times
		calls []string
	}{
		"a little": {
			timed{writes: []written{{10 * ms, "one\n"}, {60 * ms, "two\xc3"}, {110 * ms, "\xa9 three\n"}}, exit: 160 * ms, how: workspace.Exit{Code: 3}},
			[]string{"49.999999ms ", "50ms one\n", "99.999999ms one\n", "100ms one\ntwo", "150ms one\ntwoé three\n", "160ms one\ntwoé three\n failed 3"},
			[]string{"50ms output 0 262144", "50ms output 4 262144", "100ms output 4 262144", "100ms output 8 262144", "150ms output 8 262144", "150ms output 16 262144", "160ms output 16 262144"},
		},
		"no character": {
			timed{writes: []written{{0, "a\xe2\x82"}, {60 * ms, "b"}}, exit: 70 * ms},
			[]string{"50ms a", "70ms a\uFFFDb completed 0"},
			[]string{"50ms output 0 262144", "50ms output 3 262144", "70ms output 3 262144"},
		},
		"killed": {
			timed{writes: []written{{0, "a\xf0\x9f\x98"}}, exit: 70 * ms, how: workspace.Exit{Code: -1, Signal: "killed"}},
			[]string{"50ms a", "70ms a\uFFFD failed -1 killed"},
			[]string{"50ms output 0 262144", "50ms output 4 262144", "70ms output 4 262144"},
		},
		"as much as fits": {
			timed{writes: []written{{0, x("x", 512*kib)}, {60 * ms, x("y", 512*kib)}}, exit: 110 * ms},
			[]string{"50ms x*524288", "100ms x*524288", "110ms x*524288y*524288 completed 0"}, nil,
		},
		"a byte more": {
			timed{writes: []written{{0, x("x", 512*kib)}, {60 * ms, x("y", 512*kib)}, {70 * ms, "z"}}, exit: 110 * ms},
			[]string{"50ms x*524288", "110ms x*524288\n[1 bytes (0 lines) of the output are left out here.]\ny*524287z completed 0"}, nil,
		},
		"an end of which nothing is dropped yet": {
			timed{writes: []written{{0, x("x", 512*kib)}, {60 * ms, x("y", 1024*kib)}, {160 * ms, "z"}}, exit: 210 * ms},
			[]string{"100ms x*524288", "150ms x*524288", "200ms x*524288" + left, "210ms x*524288" + left + "\n[524289 bytes (0 lines) of the output are left out here.]\ny*524287z completed 0"}, nil,
		},
		"what is dropped has lines": {
			timed{writes: []written{{0, x("x", 512*kib)}, {60 * ms, "a\n\nb\n" + x("y", 1024*kib)}}, exit: 110 * ms},
			[]string{"100ms x*524288" + left, "110ms x*524288" + left + "\n[524293 bytes (3 lines) of the output are left out here.]\ny*524288 completed 0"}, nil,
		},
		"half a character at the end of the beginning": {
			timed{writes: []written{{0, x("x", 512*kib-1) + "é"}, {60 * ms, x("y", 1024*kib)}}, exit: 110 * ms},
			[]string{"50ms x*524287", "100ms x*524287\uFFFD" + left, "110ms x*524287\uFFFD" + left + "\n[524289 bytes (0 lines) of the output are left out here.]\ny*524288 completed 0"}, nil,
		},
		"more than is looked at at once": {
			timed{writes: []written{{0, x("x", 4096*kib) + "yz"}}, exit: 80 * ms},
			[]string{"50ms x*524288" + left, "80ms x*524288" + left + "\n[3145730 bytes (0 lines) of the output are left out here.]\nx*524286yz completed 0"},
			[]string{
				"50ms output 0 262144", "50ms output 262144 262144", "50ms output 524288 262144", "50ms output 786432 262144", "50ms output 1048576 262144", "50ms output 1310720 262144", "50ms output 1572864 262144", "50ms output 1835008 262144",
				"50ms output 2097152 262144", "50ms output 2359296 262144", "50ms output 2621440 262144", "50ms output 2883584 262144", "50ms output 3145728 262144", "50ms output 3407872 262144", "50ms output 3670016 262144", "50ms output 3932160 262144",
				"80ms output 4194304 262144",
			},
		},
		"much more than is looked at at once, at its end": {
			timed{writes: []written{{0, x("x", 9000*kib)}}, exit: 20 * ms},
			[]string{"19.999999ms ", "20ms x*524288" + left + "\n[8167424 bytes (0 lines) of the output are left out here.]\nx*524288 completed 0"}, nil,
		},
		"what the workspace has lost": {
			timed{writes: []written{{0, "one\n"}, {60 * ms, x("x", 100)}}, exit: 110 * ms, keeps: 50},
			[]string{"50ms one\n", "100ms one\n" + left, "110ms one\n" + left + "\n[50 bytes of the output are left out here.]\nx*50 completed 0"}, nil,
		},
		"what the workspace has lost twice": {
			timed{writes: []written{{0, "one\n"}, {60 * ms, x("x", 100)}, {110 * ms, x("y", 7) + "\n" + x("z", 52)}}, exit: 160 * ms, keeps: 50},
			[]string{"150ms one\n" + left, "160ms one\n" + left + "\n[110 bytes of the output are left out here.]\nz*50 completed 0"}, nil,
		},
		"an end with whole lines": {
			timed{writes: []written{{0, x("x", 512*kib) + "dropped" + x("y", 100) + "\nwhole\n" + x("z", 512*kib-107)}}, exit: 60 * ms},
			[]string{"60ms x*524288\n[108 bytes (1 lines) of the output are left out here.]\nwhole\nz*524181 completed 0"}, nil,
		},
		"not readable": {
			timed{writes: []written{{0, "a"}}, exit: 60 * ms, broken: errors.New("gone")},
			[]string{"0s  cancelled"}, []string{"0s output 0 262144"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			runs(t, &c.p, func(a *raw, _ string, s *acpclient.Session) {
				for _, want := range c.shown {
					at, _, _ := strings.Cut(want, " ")
					d, err := time.ParseDuration(at)
					if err != nil {
						t.Error(err)
					}
					time.Sleep(time.Until(c.p.began.Add(d)))
					synctest.Wait()
					e := s.Snapshot().Last(view.Command)
					got := at + " " + brief(e.Text())
					if e.Status != view.Running {
						got += " " + string(e.Status)
					}
					if e.Exit != nil {
						got = strings.TrimSpace(fmt.Sprintf("%s %d %s", got, e.Exit.Code, e.Exit.Signal))
					}
					if got != want {
						t.Errorf("%s: %q instead of %q", name, got, want)
					}
				}
				if c.calls != nil && strings.Join(c.calls, "\n") != strings.Join(c.p.noted(), "\n") {
					t.Errorf("%s: %s", name, strings.Join(c.p.noted(), "\n"))
				}
			})
		})
	}
}

// An agent gets the end of an output that fits its limit, from a whole character on, and learns what is left out and how the command ended.
// What it does to its terminal reaches the command; a released command is closed, and its output shown as far as it has come.
func TestTerminalsOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &timed{writes: []written{{0, "größe\n"}}, exit: time.Minute, how: workspace.Exit{Code: 2, Created: []string{"/repo/.git/hooks/x"}}}
		var got []string
		runs(t, p, func(a *raw, id string, s *acpclient.Session) {
			params := `{"sessionId":"s","terminalId":"` + id + `"}`
			do := func(method string) {
				m := a.call(method, params)
				if m.Error != nil {
					got = append(got, fmt.Sprint(m.Error.Code, " ", strings.ReplaceAll(m.Error.Message, id, "ID")))
					return
				}
				got = append(got, string(m.Result))
			}
			do("terminal/output")
			do("terminal/kill")
			synctest.Wait() // until the client waits for the command
			p.breaks(errors.New("gone\naway"))
			do("terminal/output")
			do("terminal/wait_for_exit")
			do("terminal/kill")
			p.breaks(nil)
			do("terminal/wait_for_exit")
			do("terminal/output")
			do("terminal/release")
			for _, method := range []string{"output", "kill", "wait_for_exit", "release"} {
				do("terminal/" + method)
			}
			if e := s.Snapshot().Last(view.Command); e.Text() != "größe\n" || e.Status != view.Failed || e.Title != "go" || e.Dir != "/repo" || !strings.HasPrefix(e.ID, "command:terminal-") {
				t.Errorf("%+v", e)
			}
		})
		created := `"_meta":{"ponte.created":["/repo/.git/hooks/x"]}`
		require.Equal(t, []string{
			`{"output":"größe\n","truncated":false}`, `{}`, `-32603 read the output of ID: gone away`, `-32603 wait for ID: gone away`, `-32603 kill ID: gone away`, `{"exitCode":2,` + created + `}`,
			`{"output":"größe\n","truncated":false,"exitStatus":{"exitCode":2,` + created + `}}`, `{}`,
			`-32002 there is no terminal "ID"`, `-32002 there is no terminal "ID"`, `-32002 there is no terminal "ID"`, `-32002 there is no terminal "ID"`,
		}, got)
		require.Equal(t, "1m0s close within 5s", p.noted()[len(p.noted())-1])
		require.Contains(t, p.noted(), "0s kill")
		require.Contains(t, p.noted(), "0s output 0 0")
	})
}

// Limits of an agent are counted in bytes, from 1 to 64 MiB. The first character may be left out for it.
func TestLimitsOfTerminals(t *testing.T) {
	for limit, want := range map[int64]string{
		-1: `output 0 0`, 0: `output -1 1`, 1: `output -1 1`, 3: `output -3 3`, 64 << 20: `output -67108864 67108864`, 64<<20 + 1: `output -67108864 67108864`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &timed{writes: []written{{0, "a€€"}}}
			s := begin(t, acpclient.Config{Permission: acpclient.AllowAll, Workspace: &starts{newWorkspace(t, nil), p}}, func(a *raw) {
				a.open()
				a.turn(func() {
					more := ""
					if limit >= 0 {
						more = fmt.Sprintf(`,"outputByteLimit":%d`, limit)
					}
					var created struct{ TerminalID string }
					_ = json.Unmarshal(a.call("terminal/create", `{"sessionId":"s","command":"go"`+more+`}`).Result, &created)
					m := a.call("terminal/output", `{"sessionId":"s","terminalId":"`+created.TerminalID+`"}`)
					a.say(string(m.Result))
				})
				a.wait()
			})
			turn, err := s.Say(t.Context(), "go")
			require.NoError(t, err)
			require.Equal(t, []string{"0s " + want}, p.noted())
			text := map[int64]string{0: "", 1: "", 3: "€"}
			shown, short := text[limit]
			if !short {
				shown = "a€€"
			}
			require.Equal(t, fmt.Sprintf(`{"output":%q,"truncated":%v}`, shown, short), turn.Text())
		})
	}
}
