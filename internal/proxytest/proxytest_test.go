// SPDX-License-Identifier: Apache-2.0

package proxytest_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/internal/proxytest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// echo is a server that sends back what it gets.
func echo(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

func dial(t *testing.T, p *proxytest.Proxy) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", p.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

// TestNothingPassesAProxyThatIsStalled sends lines before, during and after a stall.
func TestNothingPassesAProxyThatIsStalled(t *testing.T) {
	p := proxytest.New(t, "tcp", echo(t))
	c, lines := dial(t, p)
	line := func() (string, error) { return lines.ReadString('\n') }
	_, err := io.WriteString(c, "one\n")
	require.NoError(t, err)
	got, err := line()
	require.NoError(t, err)
	require.Equal(t, "one\n", got)

	end := p.Stall()
	_, err = io.WriteString(c, "two\n")
	require.NoError(t, err, "the network knows of nothing")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = line()
	require.ErrorContains(t, err, "timeout")
	end()
	end()
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	got, err = line()
	require.NoError(t, err)
	require.Equal(t, "two\n", got)
}

// TestAConnectionEndsOnBothSides ends the server's side, and the test during a stall.
func TestAConnectionEndsOnBothSides(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p := proxytest.New(t, "tcp", l.Addr().String())
	c, lines := dial(t, p)
	server, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, server.Close())
	_, err = lines.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)

	p.Stall() // the cleanup ends it
	_, _ = io.WriteString(c, "to nobody")
}

// TestTheEndOfATestEndsItsConnections leaves a connection open on both sides, and stalls the proxy of a test that has ended.
func TestTheEndOfATestEndsItsConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var p *proxytest.Proxy
	var c, server net.Conn
	t.Run("", func(t *testing.T) {
		p = proxytest.New(t, "tcp", l.Addr().String())
		c, err = net.Dial("tcp", p.Address())
		require.NoError(t, err)
		server, err = l.Accept()
		require.NoError(t, err)
		_, err = io.WriteString(c, "x")
		require.NoError(t, err)
		_, err = io.ReadFull(server, make([]byte, 1)) // it passes
		require.NoError(t, err)
	})
	defer c.Close()
	defer server.Close()
	for _, side := range []net.Conn{c, server} {
		require.NoError(t, side.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := side.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	p.Stall()()
	p.Stall() // which nothing waits for any more
	p.Stall()
	_, err = net.Dial("tcp", p.Address())
	require.Error(t, err)
}

// TestAServerThatIsNotThere ends the connections to it, and the proxy goes on.
func TestAServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	p := proxytest.New(t, "tcp", l.Addr().String())
	for range 2 {
		_, lines := dial(t, p)
		_, err = lines.ReadString('\n')
		require.Error(t, err)
	}
}
