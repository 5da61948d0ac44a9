// SPDX-License-Identifier: Apache-2.0

package acp

import (
	"io"
	"sync"
)

// Pair returns the two ends of a connection inside the process, over a [Pipe] each way. Both have
// to be served:
//
//	agent, client := acp.Pair(newAgent, newClient, nil, nil)
//	go agent.Serve(ctx)
//	go client.Serve(ctx)
func Pair(
	newAgent func(*AgentConn) Agent, newClient func(*ClientConn) Client, agentOpts, clientOpts *ConnOptions,
) (*AgentConn, *ClientConn) {
	toAgent, fromClient := Pipe()
	toClient, fromAgent := Pipe()
	return NewAgentConn(toAgent, fromAgent, newAgent, agentOpts), NewClientConn(toClient, fromClient, newClient, clientOpts)
}

// pipeSize is how much a pipe holds: as much as an operating system's.
const pipeSize = 64 << 10

// Pipe returns the ends of a pipe in memory. Like an operating system's pipe, and unlike [io.Pipe],
// it holds 64 KiB: a writer blocks only when the reader is that far behind. Closing the write end
// lets the reader read the rest, and then [io.EOF]; closing the read end makes writes fail with
// [io.ErrClosedPipe].
func Pipe() (r io.ReadCloser, w io.WriteCloser) {
	p := new(pipe)
	p.change.L = &p.mu
	return (*pipeReader)(p), (*pipeWriter)(p)
}

type pipe struct {
	mu       sync.Mutex
	change   sync.Cond
	data     []byte // not read yet; its array is reused
	start    int    // of data in its array
	readEnd  bool   // closed
	writeEnd bool   // closed
}

type pipeReader pipe

func (r *pipeReader) Read(b []byte) (int, error) {
	p := (*pipe)(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.start == len(p.data) {
		switch {
		case p.readEnd:
			return 0, io.ErrClosedPipe
		case p.writeEnd:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		p.change.Wait()
	}
	n := copy(b, p.data[p.start:])
	p.start += n
	if p.start == len(p.data) {
		p.data, p.start = p.data[:0], 0
	}
	p.change.Broadcast()
	return n, nil
}

func (r *pipeReader) Close() error {
	p := (*pipe)(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readEnd = true
	p.data, p.start = nil, 0
	p.change.Broadcast()
	return nil
}

type pipeWriter pipe

func (w *pipeWriter) Write(b []byte) (n int, err error) {
	p := (*pipe)(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.readEnd || p.writeEnd {
			return n, io.ErrClosedPipe
		}
		if room := min(pipeSize-(len(p.data)-p.start), len(b)); room > 0 || len(b) == 0 {
			p.append(b[:room])
			b, n = b[room:], n+room
			p.change.Broadcast()
		}
		if len(b) == 0 {
			return n, nil
		}
		p.change.Wait()
	}
}

// append adds as much as fits. It first moves the rest to the front, to keep the array from
// growing.
func (p *pipe) append(b []byte) {
	if p.start > 0 && len(p.data)+len(b) > cap(p.data) {
		p.data = p.data[:copy(p.data, p.data[p.start:])]
		p.start = 0
	}
	p.data = append(p.data, b...)
}

func (w *pipeWriter) Close() error {
	p := (*pipe)(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeEnd = true
	p.change.Broadcast()
	return nil
}
