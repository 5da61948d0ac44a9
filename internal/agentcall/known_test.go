// SPDX-License-Identifier: Apache-2.0

package agentcall_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/agentcall"
)

func TestOnlyNamesThatSayWhatIsLookedAtAreKnown(t *testing.T) {
	for input, want := range map[string][2]bool{ // without changes, and with them
		``:                               {true, true},
		`null`:                           {true, true},
		`{}`:                             {true, true},
		`{"file_path": "a", "Limit": 3}`: {true, true},
		`{"old-string": "a"}`:            {false, true},
		`{"path": "a", "command": "rm"}`: {false, false},
		`["path"]`:                       {false, false},
		`"path"`:                         {false, false},
		`{"path"`:                        {false, false},
	} {
		got := [2]bool{agentcall.Known(json.RawMessage(input), false), agentcall.Known(json.RawMessage(input), true)}
		require.Equal(t, want, got, input)
	}
}
