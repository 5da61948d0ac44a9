// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// descriptorsChild has the test binary take over its standard streams, and write to a file what
// its descriptors are before, meanwhile and afterwards.
const descriptorsChild = "PONTE_TEST_DESCRIPTORS"

func init() {
	if report := os.Getenv(descriptorsChild); report != "" {
		d := &descriptors{names: map[string]string{}}
		d.tell(strings.Fields(os.Getenv(descriptorsChild + "_FIRST")))
		if os.WriteFile(report, []byte(d.report.String()), 0o600) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// descriptors knows the files of the standard streams by name.
type descriptors struct {
	names  map[string]string
	report strings.Builder
}

// file identifies the file of a descriptor.
func (d *descriptors) file(fd int) string {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return "closed"
	}
	return fmt.Sprint(st.Dev, st.Ino)
}

func flags(fd, which int) int {
	all, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(which), 0)
	return int(all)
}

// describe describes a descriptor: whose file it has, whether children inherit it, and whether it
// blocks.
func (d *descriptors) describe(fd int) string {
	file := d.file(fd)
	if file == "closed" {
		return file
	}
	text := d.names[file]
	if flags(fd, syscall.F_GETFD)&syscall.FD_CLOEXEC != 0 {
		text += ", private"
	}
	if flags(fd, syscall.F_GETFL)&syscall.O_NONBLOCK != 0 {
		text += ", does not block"
	}
	return text
}

// all writes what the standard descriptors are, and which others have the same files.
func (d *descriptors) all(when string) {
	fmt.Fprintf(&d.report, "%s\n", when)
	for fd := range 256 {
		if fd < 3 {
			fmt.Fprintf(&d.report, "  %d: %s\n", fd, d.describe(fd))
		} else if name := d.names[d.file(fd)]; name == "input" || name == "output" {
			fmt.Fprintf(&d.report, "  copy: %s\n", d.describe(fd))
		}
	}
}

func (d *descriptors) tell(first []string) {
	for fd, name := range []string{"input", "output", "errors"} {
		d.names[d.file(fd)] = name
	}
	var null syscall.Stat_t
	if syscall.Stat(os.DevNull, &null) == nil {
		d.names[fmt.Sprint(null.Dev, null.Ino)] = "null"
	}
	poller, _, err := os.Pipe() // opened now, so that it does not get the number of a closed stream
	if err != nil {
		fmt.Fprintln(&d.report, err)
	}
	defer poller.Close()
	for _, step := range first {
		var fd int
		if _, err := fmt.Sscanf(step, "close%d", &fd); err == nil {
			_ = syscall.Close(fd)
		} else if _, err := fmt.Sscanf(step, "nonblock%d", &fd); err == nil {
			_ = syscall.SetNonblock(fd, true)
		}
	}
	if fd, err := dupPrivate(2); err == nil && fd < 3 {
		fmt.Fprintln(&d.report, "a copy is a standard stream")
	} else if fd, err := dupPrivate(1); err == nil && fd < 3 {
		fmt.Fprintln(&d.report, "a copy is a standard stream")
	} else if err == nil {
		_ = syscall.Close(fd)
	}
	s, err := takeStdio()
	if err != nil {
		fmt.Fprintf(&d.report, "%s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
		d.all("after")
		return
	}
	d.all("taken")
	for _, f := range []any{s.in, s.out} {
		raw, err := f.(*os.File).SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { fmt.Fprintf(&d.report, "  %s is %s\n", f.(*os.File).Name(), d.describe(int(fd))) })
		}
		if err = errors.Join(err, f.(*os.File).Close()); err != nil {
			fmt.Fprintln(&d.report, err)
		}
	}
	if err := s.close(); err != nil {
		fmt.Fprintln(&d.report, err)
	}
	d.all("given back")
}

// whileTaken is what the descriptors are while Serve has them, whatever they were. Two copies of
// each stream are kept: one is read or written, the other is given back.
const whileTaken = `taken
  0: null
  1: %[1]s
  2: %[1]s
`

// TestTheStreamsAreTakenAndGivenBack takes over the descriptors of a process. For as long as that
// lasts nothing but the connection has the real streams, and no child inherits them. After that
// everything is as it was.
func TestTheStreamsAreTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	pipes := fmt.Sprintf(whileTaken, "errors") + `  copy: input, private, does not block
  copy: input, private, does not block
  copy: output, private, does not block
  copy: output, private, does not block
  standard input is input, private, does not block
  standard output is output, private, does not block
given back
`
	for _, c := range []struct {
		name, first string
		files       bool // the streams are files, which always block
		want        string
	}{
		{"pipes", "", false, pipes + "  0: input\n  1: output\n  2: errors\n"},
		{"one does not block", "nonblock0", false, pipes + "  0: input, does not block\n  1: output\n  2: errors\n"},
		{"both do not block", "nonblock0 nonblock1", false, pipes +
			"  0: input, does not block\n  1: output, does not block\n  2: errors\n"},
		{"files", "", true, fmt.Sprintf(whileTaken, "errors") + `  copy: input, private
  copy: input, private
  copy: output, private
  copy: output, private
  standard input is input, private
  standard output is output, private
given back
  0: input
  1: output
  2: errors
`},
		{"no standard error", "close2", false, strings.ReplaceAll(pipes, "errors", "null") +
			"  0: input\n  1: output\n  2: null\n"},
		{"no standard input", "close0", false, `standard input: dup: bad file descriptor
after
  0: closed
  1: output
  2: errors
`},
		{"neither input nor error", "close0 close2", false, `standard input: dup: bad file descriptor
after
  0: closed
  1: output
  2: null
`},
		{"no standard output", "close1", false, `standard output: dup: bad file descriptor
after
  0: input
  1: closed
  2: errors
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			report := filepath.Join(dir, "report")
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), descriptorsChild+"="+report, descriptorsChild+"_FIRST="+c.first, "GORACE=atexit_sleep_ms=0")
			cmd.Stderr = new(strings.Builder)
			if c.files {
				for _, stream := range []string{"in", "out"} {
					f, err := os.Create(filepath.Join(dir, stream))
					require.NoError(t, err)
					defer f.Close()
					if cmd.Stdin == nil {
						cmd.Stdin = f
					} else {
						cmd.Stdout = f
					}
				}
			} else {
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				defer in.Close()
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				defer out.Close()
			}
			require.NoError(t, cmd.Run(), cmd.Stderr)
			got, err := os.ReadFile(report)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestACopyOfAClosedDescriptorIsNone(t *testing.T) {
	fd, err := dupPrivate(-1)
	require.ErrorIs(t, err, syscall.EBADF)
	require.Equal(t, -1, fd)
	_, err = setNonblock(-1)
	require.EqualError(t, err, "fcntl: bad file descriptor")
	require.False(t, pollable(-1))
}
