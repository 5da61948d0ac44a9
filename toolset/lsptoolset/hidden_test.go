// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func TestServersDoNotPrintTheirConfiguration(t *testing.T) {
	servers, err := lsptoolset.New(lsptoolset.Config{
		Servers: []lsptoolset.Server{{
			Name: "tidy", Command: []string{"tidy-ls", "--key=planted"}, Files: map[string]string{".tidy": "tidy"},
			Env: []string{"TOKEN=planted"}, Settings: map[string]any{"key": "planted"}, Options: "planted",
		}},
		Run: local.Config{Env: []string{"TOKEN=planted"}},
	})
	require.NoError(t, err)
	defer servers.Close()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, servers), "planted", verb)
	}
}

func TestAServersCommandIsPrintedOnce(t *testing.T) {
	server := lsptoolset.Server{Name: "tidy", Command: []string{"tidy-ls", "--stdio", "--key=planted"}}
	require.Equal(t, 1, strings.Count(fmt.Sprintf("%v", server), "tidy-ls"))
	require.Contains(t, fmt.Sprintf("%v", server), "[tidy-ls")
	require.Equal(t, []string{"tidy-ls", "--stdio", "--key=planted"}, server.Command, "printing changes nothing")
}
