// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// recorded returns a command line that runs the agent and keeps in a file what goes over its pipes. Whoever starts it sees no
// difference.
func recorded(t testing.TB, agent []string) (command []string, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "transcript")
	return self(t, "record", append([]string{file}, agent...)...), file
}

// A transcript has a line per line on the wire, with what the client wrote behind a '>' and what the agent wrote behind a '<'. The
// order is that of the wire in each direction; an answer stands behind its request.
const (
	byClient = '>'
	byAgent  = '<'
)

// recordMain runs the command behind the name of the file, and ends as it does.
func recordMain(args []string) int {
	file, err := os.Create(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer file.Close()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var mu sync.Mutex
	note := func(who byte, line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := file.Write(append([]byte{who}, line...))
		return err
	}
	go func() {
		defer stdin.Close()
		relay(os.Stdin, stdin, func(line []byte) error { return note(byClient, line) })
	}()
	relay(stdout, os.Stdout, func(line []byte) error { return note(byAgent, line) })
	return exitCode(cmd.Wait())
}

// relay copies lines, noting each before it goes on. A last line without an end is noted as it is.
func relay(from io.Reader, to io.Writer, note func([]byte) error) {
	lines := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if note(line) != nil {
				return
			}
			if _, err := to.Write(line); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readTranscript returns what a recorder has written.
func readTranscript(t testing.TB, file string) wireLines {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines wireLines
	for line := range bytes.Lines(data) {
		lines = append(lines, wireLine{byAgent: line[0] == byAgent, raw: line[1:]})
	}
	return lines
}
