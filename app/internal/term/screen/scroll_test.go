// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A person must know whether there is more than what is shown.
func TestQuestionSaysWhetherThereIsMoreBelow(t *testing.T) {
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("echo %d", i))
	}
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.Ask(d.now, 7, question("Run lines", command(strings.Join(lines, "\n"))))
	require.Contains(t, d.shown(), "more below: PgDn, End")
	d.pass(time.Second)
	for range 200 { // line by line to the end
		if !strings.Contains(d.shown(), "more below") {
			break
		}
		d.read("\x1b[B")
	}
	before := d.shown()
	require.Contains(t, before, "echo 59")
	require.NotContains(t, before, "more below")
	d.read("\x1b[B")
	require.Contains(t, d.shown(), "There is nothing more", "it ends where it says so")
	d.read("\x1b[A")
	require.Contains(t, d.shown(), "more below")
	d.read("\x1b[F")
	require.NotContains(t, d.shown(), "more below")
}

func TestQuestionSaysWhichKeysAnswerWhenTheyDo(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.Begin(d.now)
	d.Ask(d.now, 7, question("Run make", command("make")))
	last := func() string {
		lines := strings.Split(strings.TrimRight(d.shown(), "\n"), "\n")
		return lines[len(lines)-2] // above the status
	}
	require.Equal(t, "┃ …", last(), "it has not been drawn")
	require.Equal(t, "┃ Ctrl-C cancels the turn", last())
}

func TestEnterTakesAFileThatIsNotComplete(t *testing.T) {
	d := newDesk(t, 80, 24)
	d.SetFiles([]string{"go.mod", "main.go"})
	d.typed("see @ma")
	require.Contains(t, d.shown(), "main.go")
	d.done()
	d.read("\r")
	require.Empty(t, d.done(), "nothing is sent")
	require.Contains(t, d.shown(), "see @main.go")
	d.read("\r")
	require.NotEmpty(t, d.done())

	d = newDesk(t, 80, 24)
	d.SetFiles([]string{"go.mod", "main.go"})
	d.typed("see @")
	d.done()
	d.read("\r")
	require.NotEmpty(t, d.done(), "an @ alone is sent")
}
