// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
)

func TestParseConfig(t *testing.T) {
	all, err := lsptoolset.ParseConfig([]byte(`{
		"gopls": {"command": ["/opt/gopls"], "settings": {"gopls": {"gofumpt": true}}},
		"pyright": {"disabled": true}, "none": {"disabled": true},
		"zls": {"command": ["zls"], "files": {".zig": "zig"}, "install": "brew install zls"}
	}`))
	require.NoError(t, err)
	require.Len(t, all, len(lsptoolset.Known()))
	require.Equal(t, lsptoolset.Server{
		Name: "zls", Command: []string{"zls"}, Files: map[string]string{".zig": "zig"}, Install: "brew install zls",
	}, all[0])
	require.Equal(t, []string{"/opt/gopls"}, all[1].Command)
	settings := all[1].Settings["gopls"].(map[string]any)
	require.Equal(t, true, settings["gofumpt"])
	require.Equal(t, true, settings["verboseWorkDoneProgress"])
	require.Equal(t, "basedpyright", all[2].Name)
	require.Nil(t, lsptoolset.Known()[0].Settings["gopls"].(map[string]any)["gofumpt"])
	for text, want := range map[string]string{
		`[]`: "cannot unmarshal", `{"x": {"comand": []}}`: `server "x": unknown field "comand"`,
		`{"x": {}}`: `server "x": Command is empty`, `{"x": 1}`: `server "x": cannot unmarshal`,
	} {
		_, err := lsptoolset.ParseConfig([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
