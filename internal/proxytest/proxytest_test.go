// SPDX-License-Identifier: Apache-2.0

package proxytest_test

import (
	"bufio"
	"io"
	"net"
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
