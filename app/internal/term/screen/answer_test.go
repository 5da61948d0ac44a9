// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/toolset"
)

var answerRuns = flag.Int("answer-runs", 300, "random runs of typing ahead and pasting")

func reportOf(at screen.Place) string { return fmt.Sprintf("\x1b[%d;%dR", at.Row, at.Column) }

func TestKeysAnswer(t *testing.T) {
	for key, want := range map[string]string{"y": "once", "a": "always", "n": "no"} {
		d := newDesk(t, 80, 24)
		d.Begin(d.now)
		d.Ask(d.now, 7, question("Run make", command("make")))
		d.shown()
		d.pass(time.Second)
		d.read(key)
		require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 7, Option: want}}, d.done())
		require.NotContains(t, d.shown(), "Question")
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	opened := func() *desk {
		d := newDesk(t, 80, 24)
		d.Begin(d.now)
		d.Ask(d.now, 7, question("Run make", command("make")))
		d.shown()
		d.pass(time.Second)
		return d
	}
	for name, try := range map[string]func(d *desk){
		"paste": func(d *desk) { d.read("\x1b[200~y\x1b[201~") },
		"paste in pieces": func(d *desk) {
			d.read("\x1b[200~")
			d.pass(time.Second)
			d.read("y")
			d.pass(time.Second)
			d.read("\x1b[201~")
		},
		"several at once":       func(d *desk) { d.read("yy") },
		"a line at once":        func(d *desk) { d.read("y\r") },
		"Enter":                 func(d *desk) { d.read("\r") },
		"other letters":         func(d *desk) { d.typed("xzY1é ") },
		"Alt":                   func(d *desk) { d.read("\x1by") },
		"in the middle of text": func(d *desk) { d.typed("the yes and the maybe") },
		"rest of a key":         func(d *desk) { d.read("\x1b[1;5"); d.pass(time.Second); d.read("Ay") },
		"Esc":                   func(d *desk) { d.read("\x1b"); d.Input(d.now, d.parser.Flush()); d.collect() },
	} {
		d := opened()
		before := d.shown()
		try(d)
		require.Empty(t, d.done(), name)
		require.NotEqual(t, before, d.shown(), "%s: the person sees that it was no answer", name)
		d.pass(time.Second)
		d.read("y")
		require.Len(t, d.done(), 1, name)
	}
}

func TestTypingAheadGoesToTheInput(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.typed("ye")
	d.Ask(d.now, 7, question("Run make", command("make")))
	f := d.Frame()
	require.Len(t, f.Query, 2)
	d.typed("s y") // on its way while the question was drawn
	d.read(reportOf(f.Query[0]))
	d.typed("y")
	d.read("y" + reportOf(f.Query[1]) + "y")
	require.Empty(t, d.done())
	d.pass(time.Second)
	d.read("n")
	require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 7, Option: "no"}}, d.done())
	require.Contains(t, d.shown(), "› yes yyy\n")
}

func TestOtherReportsDoNotOpenAQuestion(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Ask(d.now, 1, question("Run make", command("make")))
	f := d.Frame()
	for _, r := range []string{"\x1b[1;1R", "\x1b[5;5R", reportOf(f.Query[1]), "\x1b[200~" + reportOf(f.Query[0]) + reportOf(f.Query[1]) + "\x1b[201~"} {
		d.read(r)
	}
	d.pass(time.Second)
	d.read("y")
	require.Empty(t, d.done())
}

func TestTerminalThatDoesNotAnswer(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.Ask(d.now, 7, question("Run make", command("make")))
	d.Frame()
	d.typed("yyyyy")
	require.NotContains(t, d.shown(), "bcdfg")
	d.pass(3 * time.Second)
	require.Contains(t, d.shown(), "Type bcdfg to answer")
	d.typed("ybcdfyabcd")
	d.pass(time.Second)
	d.read("y")
	require.Empty(t, d.done())
	d.typed("bcdfg")
	d.pass(time.Second)
	d.read("y")
	require.Len(t, d.done(), 1)
}

// The program can be stopped while it asks. What is typed to the shell meanwhile, and before the
// question is drawn again, is no answer.
func TestStopWhileAQuestionIsAsked(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.Ask(d.now, 7, question("Run make", command("make")))
	d.shown()
	d.pass(time.Second)
	d.read("\x1a")
	require.Equal(t, []screen.Effect{{Do: screen.Suspend}}, d.done())
	d.pass(time.Minute)
	d.read("y")
	require.Empty(t, d.done())
	require.Contains(t, d.shown(), "Question")
	d.pass(time.Second)
	d.read("y")
	require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 7, Option: "once"}}, d.done())
}

func TestResizeAsksTheTerminalAgain(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Ask(d.now, 1, question("Run make", command("make")))
	old := d.Frame().Query
	d.resize(60, 10)
	again := d.Frame().Query
	require.Len(t, again, 2)
	for _, at := range again {
		require.LessOrEqual(t, at.Row, 10)
		require.LessOrEqual(t, at.Column, 60)
		require.Greater(t, at.Row, 1)
	}
	d.read(reportOf(old[0]) + reportOf(old[1]))
	d.read(reportOf(again[0]) + reportOf(again[1]))
	d.pass(time.Second)
	d.read("y")
	require.Len(t, d.done(), 1)
}

// What a question is about is broken into lines for the width that the terminal has now.
func TestQuestionsFitTheNewWidth(t *testing.T) {
	line := strings.Repeat("word ", 20) + "end"
	for _, width := range []int{40, 80} {
		d, fresh := newDesk(t, 120, 24), newDesk(t, width, 24)
		for _, one := range []*desk{d, fresh} {
			one.Ask(one.now, 1, question("Run", command(line)))
			one.shown()
		}
		d.resize(width, 24)
		require.Equal(t, fresh.shown(), d.shown())
	}
}

func TestEachQuestionIsDrawnBeforeItIsAnswered(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.Ask(d.now, 1, question("Run one", command("one")))
	d.Ask(d.now, 2, question("Run two", command("two")))
	require.Contains(t, d.shown(), "Question 1 of 2")
	d.pass(time.Second)
	d.read("y")
	d.pass(time.Second)
	d.read("y") // before the second one has been drawn
	require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 1, Option: "once"}}, d.done())
	require.Contains(t, d.shown(), "Run two")
	d.pass(time.Second)
	d.read("n")
	require.Equal(t, []screen.Effect{{Do: screen.Answer, Question: 2, Option: "no"}}, d.done())
}

// The whole command is on the screen or within reach, however small the screen is.
func TestWholePreviewIsWithinReach(t *testing.T) {
	hidden := "echo " + strings.Repeat("harmless ", 40) + "; touch X; printf '\x1b[2J' \u202e"
	var old, now strings.Builder
	for i := range 150 {
		fmt.Fprintf(&old, "old %d\n", i)
		fmt.Fprintf(&now, "new %d\n", i)
	}
	r := question("Run make", toolset.Preview{Command: &toolset.CommandLine{Line: hidden, Dir: "/repo/sub", Env: []string{"LD_PRELOAD=/tmp/x.so"}}},
		toolset.Preview{Diff: &toolset.Diff{Path: "/repo/a.txt", Old: new(old.String()), New: new(now.String())}})
	for _, size := range [][2]int{{100, 40}, {80, 24}, {60, 24}, {40, 10}, {20, 5}} {
		d := newDesk(t, size[0], size[1])
		d.Begin(d.now)
		d.Ask(d.now, 1, r)
		var all strings.Builder
		lines := map[string]bool{}
		for range 400 {
			for l := range strings.Lines(d.shown()) {
				if l, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "┃ "); ok && !strings.HasPrefix(l, "y allow once · ") && !strings.HasPrefix(l, "y yes · ") && !strings.HasPrefix(l, "y a: yes") && !strings.HasPrefix(l, "↑ ↓ PgUp") {
					lines[l] = true
					all.WriteString(l)
				}
			}
			d.read("\x1b[B")
		}
		flat := strings.NewReplacer("\n", "", " ", "").Replace(all.String())
		for i := range 150 {
			require.True(t, lines[fmt.Sprintf("-old %d", i)] && lines[fmt.Sprintf("+new %d", i)], "%v: line %d", size, i)
		}
		require.True(t, strings.Contains(flat, "/repo/sub"), size)
		require.True(t, strings.Contains(flat, "LD_PRELOAD=/tmp/x.so"), size)
		require.True(t, strings.Contains(flat, "touchX"), size)
		require.NotContains(t, flat, "\x1b")
		require.True(t, strings.Contains(flat, "Alwaysallow`make`"), size)
	}
}

// scripts are what people do while an agent works. The words in braces are keys; everything is typed or pasted at random times.
var scripts = []string{
	"y", "yyyyyyyy", "yes\r", "a", "no wait yes\r", "run the tests\r", "y\ry\ry\r", "{paste}y{/paste}", "{paste}y\ny\na\n{/paste}", "nnnn",
	"{up}{up}{down}y", "{pgdn}{pgdn}y", "{esc}y", "{left}y{right}a", "fix a bug{ctrl-w}y", "\x1b[12;40Ry\x1b[7;7Ra", "aaaa{backspace}a",
	"{paste}\x1b[5;5Ry{/paste}y", "{tab}y{tab}a", "漢字y👩‍👩‍👧a",
}

var keys = strings.NewReplacer("{paste}", "\x1b[200~", "{/paste}", "\x1b[201~", "{up}", "\x1b[A", "{down}", "\x1b[B", "{pgdn}", "\x1b[6~",
	"{esc}", "\x1b", "{left}", "\x1b[D", "{right}", "\x1b[C", "{ctrl-w}", "\x17", "{backspace}", "\x7f", "{tab}", "\t")

// TestNothingTypedBeforeAQuestionAnswersIt plays people against a terminal with a delay in both directions. Each byte that a person types
// is marked with the last question that the terminal had shown by then. An answer must come from a byte that was typed after the terminal
// had shown its question.
func TestNothingTypedBeforeAQuestionAnswersIt(t *testing.T) {
	answers := 0
	for run := range *answerRuns {
		answers += playPerson(t, uint64(run))
	}
	require.Greater(t, answers, *answerRuns/4, "people do answer")
}

// sent is something on its way to the terminal.
type sent struct {
	at    time.Time
	query []screen.Place
	asked int // the question that the frame shows
}

// typedByte is a byte on its way from the terminal.
type typedByte struct {
	at    time.Time
	b     byte
	shown int  // the question that the terminal had shown when it was typed
	human bool // a person typed it, and did not paste it
}

func playPerson(t *testing.T, seed uint64) (answers int) {
	r := rand.New(rand.NewPCG(seed, 11))
	d := newDesk(t, 60+r.IntN(60), 8+r.IntN(30))
	d.rand = r.IntN
	delay := time.Duration(r.IntN(400)) * time.Millisecond
	answering := r.IntN(8) != 0 // whether the terminal tells where the cursor is
	var toTerminal []sent
	var fromTerminal []typedByte
	asked, drawnQuestion, shown, open := 0, 0, 0, 0
	pasting := false
	write := func(s string, human bool) {
		for i := range len(s) {
			if strings.HasPrefix(s[i:], "\x1b[200~") {
				pasting = true
			}
			fromTerminal = append(fromTerminal, typedByte{d.now.Add(delay), s[i], shown, human && !pasting})
			if strings.HasSuffix(s[:i+1], "\x1b[201~") {
				pasting = false
			}
		}
	}
	d.Begin(d.now)
	for step := range 400 {
		d.pass(time.Duration(r.IntN(60)) * time.Millisecond)
		switch n := r.IntN(40); {
		case n == 0 && open < 3:
			asked++
			open++
			var q *acpclient.PermissionRequest = question(fmt.Sprintf("Run %d", asked), command(fmt.Sprintf("run %d", asked)))
			d.Ask(d.now, asked, q)
		case n == 1:
			d.resize(40+r.IntN(80), 6+r.IntN(30))
		case n < 5 && step < 380:
			write(keys.Replace(scripts[r.IntN(len(scripts))]), true)
		case n < 8 && shown > 0 && shown == drawnQuestion && open > 0: // somebody reads, and answers
			write("y", true)
		}
		if r.IntN(3) == 0 {
			f := d.Frame()
			if f.Query != nil { // this frame has a question that was not on the screen before
				drawnQuestion = frontQuestion(t, d, f)
			}
			toTerminal = append(toTerminal, sent{d.now.Add(delay), f.Query, drawnQuestion})
		}
		for len(toTerminal) > 0 && !toTerminal[0].at.After(d.now) {
			shown = toTerminal[0].asked
			for _, at := range toTerminal[0].query {
				if answering {
					write(reportOf(at), false)
				}
			}
			toTerminal = toTerminal[1:]
		}
		for len(fromTerminal) > 0 && !fromTerminal[0].at.After(d.now) {
			n := 1
			for n < len(fromTerminal) && !fromTerminal[n].at.After(d.now) && r.IntN(4) > 0 {
				n++
			}
			part := fromTerminal[:n]
			fromTerminal = fromTerminal[n:]
			var read strings.Builder
			for _, b := range part {
				read.WriteByte(b.b)
			}
			d.read(read.String())
			for _, e := range d.done() {
				if e.Do != screen.Answer {
					continue
				}
				last := part[len(part)-1]
				require.Len(t, part, 1, "seed %d: an answer is a key that comes alone", seed)
				require.True(t, last.human, "seed %d: a paste answered question %d", seed, e.Question)
				require.Equal(t, e.Question, last.shown, "seed %d: question %d was answered by a key that was typed before it was shown", seed, e.Question)
				open--
				answers++
			}
		}
		if d.parser.Waiting() && len(fromTerminal) == 0 && r.IntN(2) == 0 {
			d.Input(d.now, d.parser.Flush())
			d.collect()
		}
	}
	return answers
}

// frontQuestion returns the number of the question on a frame.
func frontQuestion(t *testing.T, d *desk, f screen.Frame) (n int) {
	for _, l := range f.Lines {
		if _, err := fmt.Sscanf(l.Plain(), "┃ Run %d", &n); err == nil && n > 0 {
			return n
		}
	}
	t.Fatalf("no question in\n%s", textOf(t, f, d.width, d.height))
	return 0
}
