// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

func TestBaseURLForms(t *testing.T) {
	for s, want := range map[string]string{
		"http://h": "http://h", "https://h/": "https://h", "http://h/v1": "http://h", "http://h/a/v1//": "http://h/a", "http://h/a%2Fb": "http://h/a/b",
	} {
		u, err := adapter.BaseURL(s, "/v1")
		require.NoError(t, err, s)
		require.Equal(t, want, u.String())
	}
	for _, s := range []string{"", "h", "localhost:1", "ftp://h", "http://", "http://user:pass word@h", "http://h?a=b", "http://h#f"} {
		_, err := adapter.BaseURL(s, "/v1")
		require.ErrorContains(t, err, "Config.BaseURL", s)
		require.NotContains(t, err.Error(), "pass")
	}
}

func TestConfigDescriptionHasNoSecrets(t *testing.T) {
	require.Equal(t, "p.Config(m at http://h/v1, key set)", adapter.DescribeConfig("p", "m", "http://user:pass@h/v1", "sk-1"))
	require.Equal(t, "p.Config(m at the Gemini API, no key)", adapter.DescribeConfig("p", "m", "the Gemini API", ""))
	require.Equal(t, "p.Config(m at invalid base URL, no key)", adapter.DescribeConfig("p", "m", "", ""))
}

func TestCheckEndpointChecksNameAndKey(t *testing.T) {
	require.NoError(t, adapter.CheckEndpoint("m", ""))
	require.NoError(t, adapter.CheckEndpoint("m", "sk-1"))
	require.ErrorContains(t, adapter.CheckEndpoint("", "sk-1"), "Config.Name is empty")
	for _, key := range []string{"sk 1", "sk-1\n", "sk-ü", "\x00"} {
		require.ErrorContains(t, adapter.CheckEndpoint("m", key), "Config.APIKey")
	}
}
