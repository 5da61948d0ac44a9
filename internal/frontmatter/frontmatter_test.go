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

// TestBoundIsExact has front matter of the most bytes that it may have, and of one more.
func TestBoundIsExact(t *testing.T) {
	var f fields
	of := func(n int) string { return "---\nname: " + strings.Repeat("x", n-len("name: \n")) + "\n---\nbody" }
	body, err := frontmatter.Parse(of(frontmatter.Max), &f)
	require.NoError(t, err)
	require.Equal(t, "body", body)
	_, err = frontmatter.Parse(of(frontmatter.Max+1), &f)
	require.EqualError(t, err, "the front matter is longer than 16384 bytes")
}

type panics struct{}

func (*panics) UnmarshalYAML(func(any) error) error { panic("oh") }

// TestPanicsOfDecodersAreErrors has one, and a file that ends with its front matter.
func TestPanicsOfDecodersAreErrors(t *testing.T) {
	_, err := frontmatter.Parse("---\nname: a\n---", &panics{})
	require.ErrorContains(t, err, "the front matter is not valid: ")
	var f fields
	body, err := frontmatter.Parse("---\t\nname: a\n---", &f)
	require.NoError(t, err)
	require.Empty(t, body)
}
