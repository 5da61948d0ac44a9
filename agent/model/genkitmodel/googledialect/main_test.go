// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const testKey = "AIza-test-0123456789abcdef"

// open returns a model that uses a test server. The plugin uses the process's default transport.
func open(t testing.TB, url, name string) *genkitmodel.Model {
	t.Helper()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	m, err := googledialect.New(t.Context(), googledialect.Config{Name: name, APIKey: testKey, BaseURL: url})
	require.NoError(t, err)
	return m
}
