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
	for text, want := range map[string]string{
		"": "the first line must be", "---\nname: a": "no second line", "---\nname: [\n---": "not valid",
		"---\nx: " + strings.Repeat("x", frontmatter.Max) + "\n---": "longer than 16384 bytes",
	} {
		_, err := frontmatter.Parse(text, &f)
		require.ErrorContains(t, err, want)
	}
}
