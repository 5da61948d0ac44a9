package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/journal"
)

func newDir(t testing.TB) *journal.Dir {
	t.Helper()
	d, err := journal.NewDir(t.TempDir())
	require.NoError(t, err)
	return d
}

// replaceInvalid makes texts comparable that JSON has made UTF-8 of.
func replaceInvalid(s string) string { return strings.ReplaceAll(s, `\ufffd`, "\ufffd") }
