// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/guard"
)

var kills = flag.Int("kills", 6, "how many owners TestNothingOutlivesItsOwner ends")

func newTrue() *exec.Cmd { return exec.Command("true") }

// owner is a process that starts families of processes until it is ended: by a signal, or in the way that it is told to.
func owner() {
	end, after := os.Args[2], time.Duration(0)
	if ms, err := strconv.Atoi(os.Args[3]); err == nil {
		after = time.Duration(ms) * time.Millisecond
	}
	var names []string
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println("ready")
	switch end {
	case "return":
		time.AfterFunc(after, func() { os.Exit(0) })
	case "panic":
		time.AfterFunc(after, func() { panic("over") })
	}
	for i := 0; ; i++ {
		p, err := guard.Start(guard.Command{Path: "sh", Args: []string{"-c", families[names[i%len(names)]]}, Grace: 200 * time.Millisecond})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		switch i % 3 {
		case 0:
			p.Stop()
		case 1:
			if i > 30 {
				p.Close()
			}
		}
		if i > 30 {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// TestNothingOutlivesItsOwner ends owners at random moments, in which they start, have or stop commands. Nothing may be left
// soon after: two seconds in the deep tier, which ends 100.
func TestNothingOutlivesItsOwner(t *testing.T) {
	needProc(t)
	soon := 2 * time.Second
	if *kills < 100 {
		soon = time.Minute // other tests may keep the machine busy
	}
	for i := range *kills {
		how := []string{"kill -9", "kill -9", "kill -9", "kill -9", "return", "panic"}[i%6]
		after := time.Duration(rand.IntN(300)) * time.Millisecond
		t.Run(fmt.Sprintf("%s after %v", how, after), func(t *testing.T) {
			if *kills < 100 {
				t.Parallel()
			}
			mark := fmt.Sprintf("PONTE_TEST_MARK=%d-owner-%d", os.Getpid(), i)
			cmd := exec.Command(os.Args[0], "owner", how, strconv.Itoa(int(after.Milliseconds())))
			cmd.Env = append(os.Environ(), mark)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			if how == "kill -9" {
				time.Sleep(after)
				require.NoError(t, cmd.Process.Kill())
			}
			_ = cmd.Wait()
			begin := time.Now()
			var left []string
			for time.Since(begin) < soon {
				if left = marked(t, mark); len(left) == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			require.Empty(t, left)
		})
	}
}
