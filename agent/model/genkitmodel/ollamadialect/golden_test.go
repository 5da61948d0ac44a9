// SPDX-License-Identifier: Apache-2.0

package ollamadialect_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.TrimSpace(b.String())
}

// tell tells all of a message or an error.
func tell(t testing.TB, msg *model.Message, err error) string {
	if err == nil {
		return "message " + jsonOf(t, msg) + "\n"
	}
	require.Nil(t, msg)
	var b strings.Builder
	fmt.Fprintf(&b, "error %s\n", err)
	var e *model.APIError
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "  status %d code %q type %q id %q retryable %t after %s\n", e.Status, e.Code, e.Type, e.RequestID, e.Retryable, e.RetryAfter)
	}
	for _, is := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported, io.ErrUnexpectedEOF} {
		if errors.Is(err, is) {
			fmt.Fprintf(&b, "  is %s\n", is)
		}
	}
	return b.String()
}

var madeUp = regexp.MustCompile(`call_[A-Z2-7]{26}`)
