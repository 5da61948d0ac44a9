// SPDX-License-Identifier: Apache-2.0

package agentcall_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/toolset"
)

func TestCommandsOfForeignCallsAreRead(t *testing.T) {
	for input, want := range map[string]*toolset.CommandLine{
		`{"command":"ls -l"}`:                             {Line: "ls -l"},
		`{"command":"ls","args":["-l","a b"],"cwd":"/w"}`: {Args: []string{"ls", "-l", "a b"}, Dir: "/w"},
		`{"command":["ls","-l"]}`:                         {Args: []string{"ls", "-l"}},
		`{"command":["ls"],"args":["-l"]}`:                {Args: []string{"ls", "-l"}},
		`{"command":"ls","env":{"B":"2","A":"1"}}`:        {Line: "ls", Env: []string{"A=1", "B=2"}},
		`{"command":"ls","args":["-l"]}`:                  {Args: []string{"ls", "-l"}},
		`{"command":"ls","args":7}`:                       nil,
		`{"command":"ls","args":[]}`:                      {Line: "ls"},
		`{"command":"ls","env":null}`:                     {Line: "ls"},
		`{"command":"ls","env":["A=1"]}`:                  nil,
		`{"command":"","args":["x"]}`:                     nil,
		`{"command":[]}`:                                  nil,
		`{"command":[1]}`:                                 nil,
		`{"command":null}`:                                nil,
		`{"line":"ls"}`:                                   nil,
		`[]`:                                              nil,
		``:                                                nil,
	} {
		got, ok := agentcall.Command(json.RawMessage(input))
		require.Equal(t, want != nil, ok, input)
		if want != nil {
			require.Equal(t, *want, got, input)
		}
	}
}
