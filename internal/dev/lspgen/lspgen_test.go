// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
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

// TestFieldsBecomeWhatIsWanted has each type that a field of the protocol can have.
func TestFieldsBecomeWhatIsWanted(t *testing.T) {
	m, err := read([]byte("package protocol\ntype Text string\ntype Number uint32\ntype Wanted struct{}\nvar x, y Wanted = 1, 2\nfunc f() {}\n"))
	require.NoError(t, err)
	m.want = map[string]bool{"Wanted": true}
	require.Empty(t, m.consts)
	for typ, want := range map[string]string{
		"string": "string", "bool": "bool", "uint32": "uint32", "int32": "int32", "int64": rawJSON, "any": rawJSON,
		"DocumentURI": "string", "URI": "string", "Text": "string", "Number": rawJSON, "Wanted": "Wanted", "Other": rawJSON,
		"*string": "string", "*Text": "string", "*bool": "*bool", "*Wanted": "*Wanted", "*Other": rawJSON, "*[]string": "[]string",
		"[]Wanted": "[]Wanted", "[]Other": "[]" + rawJSON, "map[string]Wanted": "map[string]Wanted", "map[Other]Text": "map[" + rawJSON + "]string",
		"*map[string]bool": "*map[string]bool", "chan int": rawJSON, "other.T": rawJSON,
	} {
		expr, err := parser.ParseExpr(typ)
		require.NoError(t, err)
		require.Equal(t, want, m.field(expr), typ)
	}
}

// TestConstantsHaveTheNamesOfTheirTypes has names that would clash without.
func TestConstantsHaveTheNamesOfTheirTypes(t *testing.T) {
	for typ, want := range map[string]string{"SymbolKind": "SymbolError", "FileChangeType": "FileError", "DiagnosticSeverity": "Error"} {
		require.Equal(t, want, constName(typ, "Error"))
	}
}

// TestErrorsSayWhatIsWrong has a file that is not there, and an output that cannot be written.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	require.ErrorIs(t, run(t.Context(), none, "out.go"), os.ErrNotExist)
	types, err := download(t.Context())
	if err != nil {
		t.Skipf("without a module proxy: %v", err)
	}
	out := filepath.Join(t.TempDir(), "out.go")
	require.NoError(t, run(t.Context(), "", out))
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join("..", "..", "lsp", "types_gen.go"))
	require.NoError(t, err)
	require.Equal(t, string(kept), string(written), "go generate ./internal/lsp")
	from := filepath.Join(types, filepath.FromSlash(typesPath))
	require.ErrorIs(t, run(t.Context(), from, filepath.Join(none, "out.go")), os.ErrNotExist)
}
