// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"context"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"github.com/firebase/genkit/go/genkit"

	"github.com/ponte-go/ponte/internal/leaktest"
)

// kit is the Genkit of the test process. There can be only one, and what Init starts is not stopped.
var kit = sync.OnceValue(func() *genkit.Genkit {
	g := genkit.Init(context.Background())
	signal.Reset(syscall.SIGINT, syscall.SIGTERM)
	return g
})

func TestMain(m *testing.M) {
	kit()
	leaktest.Main(m)
}

// idle closes the connections that the plugin leaves in the process's default transport.
func idle(t testing.TB) {
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
}
