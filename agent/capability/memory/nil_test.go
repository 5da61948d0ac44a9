// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/memory"
)

func TestFilesOfANilWorkspaceAreRefused(t *testing.T) {
	require.PanicsWithValue(t, "memory: Files: the workspace is nil", func() { memory.Files(nil, ".") })
}
