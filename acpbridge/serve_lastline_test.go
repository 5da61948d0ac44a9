// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// What a client has written before the end of its side is answered, also if the end is noticed before the last line has been handled.
func TestLastLineBeforeTheEndIsAnswered(t *testing.T) {
	for name, end := range map[string]string{"with its end": "\n", "without its end": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(t, modeltest.Script())
				c.Conn.Tap = func(dir acp.Direction, _ []byte) {
					if dir == acp.Received {
						time.Sleep(100 * time.Millisecond) // the reader is slow
					}
				}
				var out bytes.Buffer
				c.In, c.Out = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+end), &out
				require.NoError(t, acpbridge.Serve(t.Context(), c))
				require.Contains(t, out.String(), `"id":1,"result"`)
			})
		})
	}
}
