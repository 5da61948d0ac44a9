// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// A client that is killed says no farewell, whether it was silent or in the middle of a message.
func TestWebSocketClientThatIsKilledIsNoError(t *testing.T) {
	ended := make(chan error, 1)
	url := server(t, func(c *acphttp.Config) {
		c.Serve = func(_ context.Context, in io.Reader, _ io.Writer) error {
			_, err := io.Copy(io.Discard, in)
			ended <- err
			return err
		}
	})
	for _, reset := range []bool{false, true} {
		for _, sends := range []string{"", "a message that does not end"} {
			var tcp *net.TCPConn
			transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, address)
				if err == nil {
					tcp = c.(*net.TCPConn)
				}
				return c, err
			}}
			conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{
				HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + socketToken}},
			})
			require.NoError(t, err)
			if sends != "" {
				_, err = tcp.Write([]byte("\x81\xff\x00\x00\x00\x00\x00\x01\x00\x00mask" + sends)) // of 64 KiB
				require.NoError(t, err)
			}
			if reset {
				require.NoError(t, tcp.SetLinger(0))
			}
			require.NoError(t, tcp.Close())
			require.NoError(t, <-ended, "reset %v, sent %q", reset, sends)
			_ = conn.CloseNow()
		}
	}
}
