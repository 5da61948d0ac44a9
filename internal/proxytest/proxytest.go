// SPDX-License-Identifier: Apache-2.0

// Package proxytest has a proxy in front of a server, for tests of clients whose network is silent.
package proxytest

import (
	"net"
	"sync"
	"testing"
)

// Proxy passes on connections to a server, and nothing while it is stalled: it takes some bytes all
// the same, so that the network knows of nothing. Its methods are safe for concurrent use.
type Proxy struct {
	listener         net.Listener
	network, address string
	gate             sync.RWMutex
	all              sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	ended bool
	end   func() // of the last stall
}

// New returns a proxy in front of a server, which listens on a network as [net.Dial] knows it. It
// ends with the test, together with its connections.
func New(t testing.TB, network, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxytest: %v", err)
	}
	p := &Proxy{listener: l, network: network, address: address, end: func() {}}
	p.all.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Address returns where clients reach the proxy: a host and a port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Stall has nothing pass until end is called, of which later calls do nothing. It waits for the end
// of another stall.
func (p *Proxy) Stall() (end func()) {
	p.gate.Lock()
	end = sync.OnceFunc(p.gate.Unlock)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		end()
	}
	p.end = end
	return end
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	end := p.end
	p.mu.Unlock()
	end()
	p.all.Wait()
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		if p.ended {
			_, _ = in.Close(), out.Close()
		}
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.all.Go(func() { p.pass(in, out) })
		p.all.Go(func() { p.pass(out, in) })
	}
}

// pass passes on bytes, and the end of a connection.
func (p *Proxy) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for err := error(nil); err == nil; {
		var n int
		n, err = from.Read(buffer)
		p.gate.RLock()
		_, _ = to.Write(buffer[:n]) // if that fails, the other direction ends
		if err != nil {
			_ = to.Close()
		}
		p.gate.RUnlock()
	}
}
