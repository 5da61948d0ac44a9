// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
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

// What is printed of a server has its words, and none of its arguments and settings.
func TestPrintedServersHideTheirArguments(t *testing.T) {
	s := lsptoolset.Server{
		Name: "n", Command: []string{"program", "--token", "secret"}, Files: map[string]string{".x": "x"}, Env: []string{"A=secret"},
		Settings: map[string]any{"secret": "secret"}, Options: "secret",
	}
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"Name":"n","Command":["program","[hidden]","[hidden]"],"Files":{".x":"x"},"Install":"","Settings":{"[hidden]":"[hidden]"},"Options":"[hidden]","Edits":null,"OpenOnly":false,"Env":["A=[hidden]"]}`, string(data))
	plain, err := json.Marshal(lsptoolset.Server{Name: "n", Command: []string{"program"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"Name":"n","Command":["program"],"Files":null,"Install":"","Settings":null,"Options":null,"Edits":null,"OpenOnly":false,"Env":null}`, string(plain))
	require.Equal(t, []string{"program", "--token", "secret"}, s.Command, "the server stays as it is")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "server", s)
	require.Contains(t, log.String(), "program")
	require.NotContains(t, log.String()+fmt.Sprint(s)+fmt.Sprintf("%+v %#v", s, &s), "secret")
}
