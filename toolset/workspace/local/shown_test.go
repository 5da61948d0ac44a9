// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func TestConfigWithASandboxIsWrittenAsJSON(t *testing.T) {
	box := &local.Sandbox{Optional: true, Unreadable: func(string) bool { return true }}
	data, err := json.Marshal(local.Config{Env: []string{"KEY=sesame"}, Sandbox: box})
	require.NoError(t, err)
	require.Contains(t, string(data), `"Optional":true`)
	require.NotContains(t, string(data), "sesame")
}
