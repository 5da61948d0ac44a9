// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/chat"
)

func TestLongLinesOfTheInputAreRead(t *testing.T) {
	for _, size := range []int{64 << 10, 1 << 20, 1<<20 + 1, 3 << 20} {
		p := newPerson(t)
		p.Person = false
		p.In = strings.NewReader("say first\r\n" + "say " + strings.Repeat("x", size) + "\n\nsay last")
		require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
		require.Contains(t, p.out.String(), "["+strings.Repeat("x", size)+"]")
		require.Contains(t, p.out.String(), "[first]\n")
		require.Contains(t, p.out.String(), "[last]", "a line without an end is one")
	}
}

func TestLineThatIsTooLongIsNamedAndTheNextOneRead(t *testing.T) {
	for _, end := range []string{"\nsay last\n", ""} {
		p := newPerson(t)
		p.Person = false
		p.In = io.MultiReader(strings.NewReader("say first\n"), io.LimitReader(ones{}, 33<<20), strings.NewReader(end))
		require.Equal(t, chat.ExitError, p.start(t)())
		require.Contains(t, p.errors.String(), "chat: a line of the input has 346")
		require.Contains(t, p.out.String(), "[first]")
		require.Equal(t, end != "", strings.Contains(p.out.String(), "[last]"))
	}
}

// ones is an endless line.
type ones struct{}

func (ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	return len(p), nil
}

func TestInputThatCannotBeReadIsAnError(t *testing.T) {
	p := newPerson(t)
	p.Person = false
	p.In = io.MultiReader(strings.NewReader("say first\n"), iotest.ErrReader(errors.New("the disk is on fire")))
	require.Equal(t, chat.ExitError, p.start(t)())
	require.Contains(t, p.errors.String(), "chat: the input cannot be read: the disk is on fire")
	require.Contains(t, p.out.String(), "[first]")
}

// full is a disk with room for so many bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	f.left -= n
	if n < len(p) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, room := range []int{0, 1, 10, 100} {
		for _, asJSON := range []bool{false, true} {
			for _, prompt := range []string{"say " + strings.Repeat("x", 200), ""} {
				p := newPerson(t)
				p.Person, p.JSON, p.Out, p.Prompt = false, asJSON, &full{room}, prompt
				p.In = strings.NewReader("say " + strings.Repeat("x", 200) + "\nhang\n")
				require.Equal(t, chat.ExitError, p.start(t)(), "%d %v %q", room, asJSON, prompt)
				require.Equal(t, "chat: the output cannot be written: "+os.ErrDeadlineExceeded.Error()+"\n", p.errors.String())
			}
		}
	}
}

// The agent's side, or the client of the protocol, has written out what people would not see. Nothing is written out again.
func TestLineBreaksOfCommandsAreWrittenOutOnce(t *testing.T) {
	p := newPerson(t)
	p.AllowAll = true
	p.Prompt = "run echo one\necho two"
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Contains(t, p.out.String(), "$ echo one⟨LF⟩echo two\n  │ one\n  │ two\n")
	require.NotContains(t, p.out.String(), "U+27E8")
}

func TestEndOfALongOutputIsShownAboveTheExitCode(t *testing.T) {
	p := newPerson(t)
	p.AllowAll = true
	p.Prompt = "run seq 1 400000 && exit 3" // 2.7 MB
	require.Equal(t, chat.ExitOK, p.start(t)(), p.errors.String())
	require.Contains(t, p.out.String(), "\n  │ 1\n  │ 2\n", "however fast it was written")
	require.Contains(t, p.out.String(), "\n  │ 399999\n  │ 400000\n  └ exit code 3\n")
	require.Contains(t, p.out.String(), " lines …\n")
}
