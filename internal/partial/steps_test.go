// SPDX-License-Identifier: Apache-2.0

package partial_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/partial"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What is made of a document, good or bad, is recorded for each of its beginnings.
func TestWhatIsMadeOfEachBeginningIsRecorded(t *testing.T) {
	var b strings.Builder
	for _, doc := range []string{
		`{"a":"x\"\\y\u00e9\/z","b\"c":[1, -2.5e3 ,true,{"d":null , "e":[]}],"f" : {"g":{}}, "h":"i"} `,
		"\t[\r\n1\t,\"a\",[[],\n{\"b\":[\"c\",2]}],false]\n", `"a\u12`, `"\\"`, `12 `, `true`, ` null `, `"a" "b"`, `{"a":1}{"b":2}`, `]1}`, `{"a"]:2}`, `[}1,`, `{,"a":1}`, `[,]`, `:1 "x`, `{"a":"b":"c"}`, `{"a" "b`, `[1 2`, `{1:2}`, `["\u0041\`, `{"\u0041\"":"\`, `["a"}"b`,
	} {
		last := "-"
		for i := 0; i <= len(doc); i++ {
			before := doc[:i]
			got := partial.Complete([]byte(before))
			require.Equal(t, doc[:i], before, "what was given is not changed")
			text := string(got)
			if got == nil {
				text = "nothing"
			}
			if text != last {
				fmt.Fprintf(&b, "%q => %q\n", before, text)
				last = text
			}
		}
		b.WriteString("\n")
	}
	path := filepath.Join("testdata", "steps.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
