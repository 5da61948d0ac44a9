// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// System is the environment of [Program].
type System struct {
	// In, Out and Err are the standard streams.
	In       io.Reader
	Out, Err io.Writer
	// Getenv returns a variable of the environment.
	Getenv func(name string) string
	// ReadFile returns a file. A relative name begins at the program's directory.
	ReadFile func(name string) ([]byte, error)
}

// Program is the program that the suite starts. It does what its arguments say, one after the
// other, and returns its exit code:
//
//	print TEXT   writes TEXT and a newline to standard output
//	raw TEXT     writes TEXT
//	error TEXT   writes TEXT and a newline to standard error
//	lines N      writes N lines, the last of which is "line N"
//	env NAME     writes the value of a variable and a newline
//	cat NAME     writes a file
//	stdin        reads standard input to its end, and writes "N bytes"
//	wait         waits until ctx ends
//	work         does what the tests of the project that [RunTools] works on do, and ends
//	exit CODE    ends
func Program(ctx context.Context, s System, args []string) int {
	for len(args) > 0 {
		verb, word := args[0], ""
		args = args[1:]
		if verb != "stdin" && verb != "wait" && verb != "work" {
			if len(args) == 0 {
				fmt.Fprintf(s.Err, "%s needs an argument\n", verb)
				return 2
			}
			word, args = args[0], args[1:]
		}
		switch verb {
		case "print":
			fmt.Fprintln(s.Out, word)
		case "raw":
			fmt.Fprint(s.Out, word)
		case "error":
			fmt.Fprintln(s.Err, word)
		case "lines":
			n, _ := strconv.Atoi(word)
			var block []byte
			for i := 1; i <= n && ctx.Err() == nil; i++ {
				if block = fmt.Appendf(block, "line %d\n", i); len(block) > 60_000 || i == n {
					_, _ = s.Out.Write(block)
					block = block[:0]
				}
			}
		case "env":
			fmt.Fprintln(s.Out, s.Getenv(word))
		case "cat":
			data, err := s.ReadFile(word)
			if err != nil {
				fmt.Fprintln(s.Err, err)
				return 1
			}
			_, _ = s.Out.Write(data)
		case "stdin":
			n, _ := io.Copy(io.Discard, s.In)
			fmt.Fprintf(s.Out, "%d bytes\n", n)
		case "wait":
			<-ctx.Done()
		case "work":
			out, code := workTest(func(name string) (string, error) {
				data, err := s.ReadFile(name)
				return string(data), err
			})
			fmt.Fprint(s.Out, out)
			return code
		case "exit":
			code, err := strconv.Atoi(word)
			if err != nil {
				return 2
			}
			return code
		default:
			fmt.Fprintf(s.Err, "unknown verb %q\n", verb)
			return 2
		}
	}
	return 0
}

// programArg is the first argument of a process that is [Program].
const programArg = "-workspacetest.program"

// Main turns the process into [Program] if it was started with the arguments of [Self]. Call it
// first in TestMain.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != programArg {
		return
	}
	// A process that waits for nothing would be taken for deadlocked.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	code := Program(ctx, System{os.Stdin, os.Stdout, os.Stderr, os.Getenv, os.ReadFile}, os.Args[2:])
	cancel()
	os.Exit(code)
}

// Self returns the first arguments of a command that runs [Program] in a process: this
// executable. It is for [Env.Program].
func Self() ([]string, error) {
	exe, err := os.Executable()
	return []string{exe, programArg}, err
}
