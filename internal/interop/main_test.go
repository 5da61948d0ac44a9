// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is also the programs that stand between a client and the agent.
var programs = map[string]func(args []string) int{
	"record":   recordMain,
	"client":   clientMain,
	"features": featuresMain,
	"forward":  forwardMain,

	mcpClientProgram: mcpClient,
}

// scratch is a directory for the run, gone at its end.
var scratch string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if program, ok := programs[os.Args[1]]; ok {
			os.Exit(program(os.Args[2:]))
		}
	}
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "interop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code == 0 && wholeRun() {
		if missing := unmetRequirements(); len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: requirements without a test that ran:\n%s\n", strings.Join(missing, "\n"))
			return 1
		}
	}
	return code
}

// ideagent returns the command line of the agent.
func ideagent(flags ...string) []string {
	return append([]string{binary, "-model", "offline"}, flags...)
}

// binary is the agent's.
var binary string

// build builds the agent, with the race detector if PONTE_INTEROP_RACE is set. PONTE_INTEROP_AGENT names one that is built already.
func build() (err error) {
	if built := os.Getenv("PONTE_INTEROP_AGENT"); built != "" {
		binary, err = filepath.Abs(built)
		return err
	}
	binary = filepath.Join(scratch, "ideagent")
	args := []string{"build", "-ldflags=-s -w", "-o", binary}
	if os.Getenv("PONTE_INTEROP_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./examples/ideagent")...)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return nil
}

// self returns the command line of one of programs.
func self(t testing.TB, program string, args ...string) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path, program}, args...)
}

// exitCode returns the code that a process ended with; a signal is -1.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
