// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
)

// agentGrace is how long the agent may take to end once its standard input has.
const agentGrace = time.Second

// process is the agent's process and its pipes.
type process struct {
	guarded       *guard.Process
	stdin, stdout *os.File // our ends
	stderr        *os.File
	drained       chan struct{} // all of stderr has been read

	mu   sync.Mutex
	last []string // the last lines of stderr
}

// startProcess starts the agent in dir. tell gets each line of its standard error.
func startProcess(command []string, dir string, tell func(line string)) (*process, error) {
	if len(command) == 0 {
		return nil, errors.New("no agent command")
	}
	var opened []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return r, w, err
	}
	agentIn, stdin, err1 := pipe()
	stdout, agentOut, err2 := pipe()
	stderr, agentErr, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	p := &process{stdin: stdin, stdout: stdout, stderr: stderr, drained: make(chan struct{})}
	if err == nil {
		p.guarded, err = guard.Start(guard.Command{
			Path: command[0], Args: command[1:], Dir: dir, Stdin: agentIn, Stdout: agentOut, Stderr: agentErr, Grace: agentGrace,
		})
	}
	if err != nil {
		for _, f := range opened {
			f.Close()
		}
		return nil, err
	}
	agentIn.Close()
	agentOut.Close()
	agentErr.Close()
	go p.collect(tell)
	return p, nil
}

func (p *process) collect(tell func(string)) {
	defer close(p.drained)
	const kept = 5
	lines := bufio.NewReaderSize(p.stderr, 8<<10)
	for {
		chunk, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		line := clean(string(chunk))
		if strings.TrimSpace(line) == "" {
			continue
		}
		tell(line)
		p.mu.Lock()
		if p.last = append(p.last, line); len(p.last) > kept {
			p.last = p.last[1:]
		}
		p.mu.Unlock()
	}
}

// died says how the agent has ended, after its end of the connection is gone.
func (p *process) died() error {
	select {
	case <-p.guarded.Exited():
	case <-time.After(agentGrace):
		return errors.New("the agent has closed the connection")
	}
	select {
	case <-p.drained:
	case <-time.After(100 * time.Millisecond): // a child of the agent may hold it open
	}
	exit := p.guarded.Exit()
	how := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != "" {
		how = exit.Signal
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) == 0 {
		return fmt.Errorf("the agent has died (%s) without a word", how)
	}
	return fmt.Errorf("the agent has died (%s); its last words: %s", how, strings.Join(p.last, " | "))
}

// close ends the agent. It notices that its input has ended, or is told to end and killed, with all that it has started.
func (p *process) close() {
	p.stdin.Close()
	select {
	case <-p.guarded.Exited():
	case <-time.After(agentGrace):
	}
	p.guarded.Close()
	p.stderr.Close()
	<-p.drained
	p.stdout.Close()
}
