// SPDX-License-Identifier: Apache-2.0

package frontmatter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/frontmatter"
)

type fields struct {
	Name string `yaml:"name"`
}

func TestParse(t *testing.T) {
	var f fields
	body, err := frontmatter.Parse("\ufeff---\r\nname: a\r\n--- \r\n\r\nbody\r\n---\r\n", &f)
	require.NoError(t, err)
	require.Equal(t, "a", f.Name)
	require.Equal(t, "body\n---\n", body)
	// A field of the wrong type, and text with a colon, leave the other fields.
	for text, want := range map[string]string{
		"name: b\nother: {}\nlist: 7\n":                      "",
		"name: b\nlist: {a: c}\n":                            "line 2: cannot unmarshal",
		"name: b\nlist: [c]\nother: Note: x \"y\" \\z\n":     "text with a colon needs quotes",
		"other: a: b\nname: 'b'\nlist: {a: c}\n":             "cannot unmarshal",
		"other: \"q\"\nname: b\n# note: a: b\nlist: [ d ]\n": "",
	} {
		var f struct {
			Name string   `yaml:"name"`
			List []string `yaml:"list"`
		}
		body, err := frontmatter.Parse("---\n"+text+"---\nbody", &f)
		if want != "" || strings.Contains(text, "list: 7") {
			require.ErrorAs(t, err, new(*frontmatter.FieldError), text)
			require.ErrorContains(t, err, want)
		} else {
			require.NoError(t, err, text)
		}
		require.Equal(t, "b", f.Name, text)
		require.Equal(t, "body", body)
	}
	for text, want := range map[string]string{
		"": "the first line must be", "---\nname: a": "no second line", "---\nname: [\n---": "not valid",
		"---\nx: " + strings.Repeat("x", frontmatter.Max) + "\n---": "longer than 16384 bytes",
	} {
		_, err := frontmatter.Parse(text, &f)
		require.ErrorContains(t, err, want)
	}
}
