// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestCommandsSucceedWithExitCodeZero(t *testing.T) {
	for _, c := range []struct {
		exit *workspace.Exit
		want bool
	}{
		{nil, false},
		{&workspace.Exit{}, true},
		{&workspace.Exit{Code: 1}, false},
		{&workspace.Exit{Code: -1}, false},
		{&workspace.Exit{Signal: "killed"}, false},
	} {
		require.Equal(t, c.want, (&workspace.CommandState{Exit: c.exit}).Succeeded(), "%v", c.exit)
	}
}
