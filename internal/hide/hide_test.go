// SPDX-License-Identifier: Apache-2.0

package hide_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/hide"
)

func TestNamesAreShownAndValuesHidden(t *testing.T) {
	require.Equal(t, map[string]string{"A": "[hidden]"}, hide.Values(map[string]string{"A": "b"}))
	require.Equal(t, http.Header{"A": {"[hidden]"}}, hide.Header(http.Header{"A": {"b", "c"}}))
	require.Equal(t, []string{"A=[hidden]", "[hidden]", "B=[hidden]"}, hide.Env([]string{"A=b=c", "secret", "B="}))
	require.Equal(t, []string{"[hidden]"}, hide.Texts([]string{"a"}))
	require.Equal(t, "[hidden]", hide.Text("a"))
	require.Equal(t, "https://h:1/p", hide.URL("https://u:p@h:1/p?q=s#f"))
	for _, broken := range []string{"https://u:p@h:p/", "mailto:a?b", "https://u:p w@h"} {
		require.Equal(t, "[hidden]", hide.URL(broken))
	}
}

func TestWhatIsNotThereIsNotHidden(t *testing.T) {
	require.Nil(t, hide.Values(nil))
	require.Nil(t, hide.Header(nil))
	require.Nil(t, hide.Env(nil))
	require.Nil(t, hide.Texts(nil))
	require.Empty(t, hide.Text(""))
	require.Empty(t, hide.URL(""))
}

func TestControlsBecomeVisible(t *testing.T) {
	require.Equal(t, "a\uFFFD[31mb \uFFFD\uFFFDc\td\né 日本 🎉\uFFFD", hide.Controls("a\x1b[31mb \u202e\x00c\td\né 日本 🎉\xff"))
}

// hidden is printed as another value, with the verb and the flags that were asked for.
type hidden struct{ Secret string }

func (h hidden) Format(f fmt.State, verb rune) {
	hide.Format(f, verb, struct{ Secret string }{hide.Text(h.Secret)})
}

func TestValuesArePrintedWithoutTheirSecrets(t *testing.T) {
	for verb, want := range map[string]string{"%v": "{[hidden]}", "%+v": "{Secret:[hidden]}", "%q": `{"[hidden]"}`, "%-12v|": "{[hidden]    }|", "%x": "{5b68696464656e5d}"} {
		require.Equal(t, want, fmt.Sprintf(verb, hidden{"x"}), verb)
	}
	require.Equal(t, `struct { Secret string }{Secret:"[hidden]"}`, fmt.Sprintf("%#v", hidden{"x"}))
	require.Equal(t, "{Secret:[hidden]}", hide.Log(hidden{"x"}).String())
}
