// SPDX-License-Identifier: Apache-2.0

package plainjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/plainjson"
)

func FuzzAppendString(f *testing.F) {
	f.Add("")
	f.Add("a \"b\" \\ <c> & \n\r\t\x00\x1f\u2028 \xff é 🎉")
	f.Fuzz(func(t *testing.T, s string) {
		text := plainjson.AppendString([]byte("x"), s)
		require.Equal(t, string(text), string(plainjson.AppendString([]byte("x"), []byte(s))))
		var back string
		require.NoError(t, json.Unmarshal(text[1:], &back))
		require.Equal(t, string([]rune(s)), back)
	})
}
