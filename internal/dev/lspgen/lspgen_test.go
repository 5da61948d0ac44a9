// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerate(t *testing.T) {
	before := wanted
	defer func() { wanted = before }()
	wanted = wanted[:0:0]
	for name, fields := range map[string][]string{"Thing": {"Kind", "Name", "Of", "Other", "URI", "List"}} {
		wanted = append(wanted, struct {
			name   string
			fields []string
		}{name, fields})
	}
	wanted = append(wanted, struct {
		name   string
		fields []string
	}{name: "SymbolKind"})
	src := `package protocol
type Base struct { Name string ` + "`json:\"name\"`" + ` }
// Theirs.
type Thing struct {
	// Theirs, too.
	Kind *SymbolKind ` + "`json:\"kind\"`" + `
	URI DocumentURI ` + "`json:\"uri\"`" + `
	Of *Or_x ` + "`json:\"of\"`" + `
	Other any ` + "`json:\"other\"`" + `
	Left string ` + "`json:\"left\"`" + `
	List map[DocumentURI][]Unwanted ` + "`json:\"list\"`" + `
	Base
	Elsewhere
}
type SymbolKind uint32
const File SymbolKind = 1
`
	got, err := generate([]byte(src))
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(got), "import \"encoding/json\"\n\n")
	require.Equal(t, `// Thing is the Thing of the protocol.
type Thing struct {
	Kind  *SymbolKind                  `+"`json:\"kind\"`"+`
	URI   string                       `+"`json:\"uri\"`"+`
	Of    json.RawMessage              `+"`json:\"of\"`"+`
	Other json.RawMessage              `+"`json:\"other\"`"+`
	List  map[string][]json.RawMessage `+"`json:\"list\"`"+`
	Name  string                       `+"`json:\"name\"`"+`
}

// SymbolKind is the SymbolKind of the protocol.
type SymbolKind uint32

// The values of SymbolKind.
const (
	SymbolFile SymbolKind = 1
)
`, text)
	_, err = generate([]byte("package protocol\ntype Thing struct{}\n"))
	require.EqualError(t, err, "Thing has no field Kind")
	_, err = generate([]byte("package protocol\n"))
	require.EqualError(t, err, "the source has no type Thing")
	_, err = generate([]byte("x"))
	require.Error(t, err)
}

func TestMain(m *testing.M) {
	if os.Getenv("LSPGEN_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Types that are not those of the release are refused, and nothing is written.
func TestOtherTypesAreRefused(t *testing.T) {
	dir := t.TempDir()
	types := filepath.Join(dir, "tsprotocol.go")
	require.NoError(t, os.WriteFile(types, []byte("package protocol\n"), 0o644))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-types", types, "-out", filepath.Join(dir, "out.go"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LSPGEN_TEST_MAIN=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "lspgen: "+types+" has SHA-256 ")
	written, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.Equal(t, []string{types}, written)
}
