// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoNames(t *testing.T) {
	for in, want := range map[string]string{
		"sessionId": "SessionID", "McpServerHttp": "MCPServerHTTP", "agent_message_chunk": "AgentMessageChunk", "date-time": "DateTime",
		"_meta": "Meta", "uri": "URI", "mimeType": "MIMEType", "mcpServers": "MCPServers", "ElicitationUrlMode": "ElicitationURLMode",
		"fs": "FS", "cwd": "Cwd",
	} {
		assert.Equal(t, want, goName(in), in)
	}
}

func TestASchemaWithAnotherChecksumIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	_, err := loadSchema(t.Context(), file)
	assert.ErrorContains(t, err, "want "+schemaSHA256)
	_, err = loadSchema(t.Context(), filepath.Join(t.TempDir(), "none.json"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestWithoutNpmTheErrorSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := loadSchema(t.Context(), "")
	assert.ErrorContains(t, err, "npm is needed")
	assert.ErrorContains(t, err, "-schema")
}

func TestReadArchive(t *testing.T) {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, name := range []string{"package/other", schemaPath} {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(name))}))
		_, err := tw.Write([]byte(name))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())

	data, err := readArchive(bytes.NewReader(buf.Bytes()), schemaPath)
	require.NoError(t, err)
	assert.Equal(t, schemaPath, string(data))
	_, err = readArchive(bytes.NewReader(buf.Bytes()), "none")
	assert.ErrorContains(t, err, "no file none")
	_, err = readArchive(bytes.NewReader([]byte("x")), "none")
	assert.Error(t, err)
}

// A file of the archive is read up to 16 MiB.
func TestReadArchiveIsBounded(t *testing.T) {
	const most = 16 << 20
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: "large", Mode: 0o600, Size: most + 1}))
	_, err := tw.Write(make([]byte, most+1))
	require.NoError(t, err)
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	data, err := readArchive(&buf, "large")
	require.NoError(t, err)
	require.Len(t, data, most)
}

// miniature has one of each construct of the real schema.
const miniature = `{"$defs": {
	"ThingId": {"description": "prose", "type": "string"},
	"Version": {"type": "integer", "format": "uint16"},
	"Colour": {"oneOf": [{"type": "string", "const": "red"}, {"type": "string", "const": "deep_blue"}]},
	"Text": {"type": "object", "properties": {"text": {"type": "string"}, "note": {"type": ["string", "null"]}}, "required": ["text"]},
	"Number": {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]},
	"Block": {"oneOf": [
		{"type": "object", "properties": {"type": {"type": "string", "const": "text"}}, "allOf": [{"$ref": "#/$defs/Text"}]},
		{"type": "object", "properties": {"type": {"type": "string", "const": "none"}}}]},
	"Either": {"anyOf": [{"title": "a", "allOf": [{"$ref": "#/$defs/Text"}]}, {"title": "b", "allOf": [{"$ref": "#/$defs/Number"}]}]},
	"Thing": {"type": "object", "properties": {
		"zeta": {"allOf": [{"$ref": "#/$defs/ThingId"}]},
		"alpha": {"type": "array", "items": {"$ref": "#/$defs/Block"}, "x-deserialize-default-on-error": true, "x-deserialize-skip-invalid-items": true},
		"flag": {"type": "boolean", "default": false},
		"colour": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"either": {"anyOf": [{"$ref": "#/$defs/Either"}, {"type": "null"}]},
		"count": {"type": ["integer", "null"], "format": "uint32"},
		"anything": {}
	}, "required": ["zeta", "alpha"]}
}}`

func emitMiniature(t *testing.T, emit func(*model, *printer)) string {
	t.Helper()
	r, err := parseSchema([]byte(miniature))
	require.NoError(t, err)
	m, err := buildModel(r)
	require.NoError(t, err)
	p := newPrinter("acp", nil)
	emit(m, p)
	_, err = parser.ParseFile(token.NewFileSet(), "x.go", p.Bytes(), 0)
	require.NoError(t, err)
	return p.String()
}

func TestTypesKeepTheSchemasOrderAndNoneOfItsProse(t *testing.T) {
	src := emitMiniature(t, (*model).emitTypes)
	assert.Contains(t, src, "type Thing struct {\n"+
		"Zeta ThingID `json:\"zeta\"`\n"+
		"Alpha []Block `json:\"alpha\" acp:\"lenient\"`\n"+
		"Flag bool `json:\"flag\" acp:\"default,strict\"`\n"+
		"Colour Colour `json:\"colour,omitzero\" acp:\"strict\"`\n"+
		"Labels map[string]string `json:\"labels,omitzero\" acp:\"strict\"`\n"+
		"Either *Either `json:\"either,omitzero\" acp:\"strict\"`\n"+
		"Count *uint32 `json:\"count,omitzero\" acp:\"strict\"`\n"+
		"Anything json.RawMessage `json:\"anything,omitzero\" acp:\"strict\"`\n}")
	assert.Contains(t, src, "Text *Text `acp:\"type=text\"`\nNone *BlockNone `acp:\"type=none\"`")
	assert.Contains(t, src, "A *Text `acp:\"has text\"`\nB *Number `acp:\"has value\"`")
	assert.NotContains(t, src, "prose")
	enums := emitMiniature(t, (*model).emitEnums)
	assert.Contains(t, enums, "ColourDeepBlue Colour = \"deep_blue\"")
	assert.Contains(t, enums, "type Version uint16")
}

func TestTagsSayWhatTheSchemaSays(t *testing.T) {
	for want, f := range map[string]field{
		"":                 {required: true},
		"lenient":          {required: true, lenient: true},
		"nullable":         {required: true, nullable: true},
		"strict":           {},
		"emptynull":        {lenient: true, nullEmpty: true},
		"default":          {lenient: true, hasDefault: true},
		"default=x,strict": {hasDefault: true, defaultValue: "x"},
	} {
		assert.Equal(t, want, rules(f))
	}
	tagged, untagged := &union{tag: "kind"}, &union{}
	assert.Equal(t, "kind=a", variantRules(tagged, variant{tag: "a"}))
	assert.Equal(t, "kind=|a", variantRules(tagged, variant{alias: "a"}))
	assert.Equal(t, "kind=|a,fallback", variantRules(&union{tag: "kind", fallback: true}, variant{alias: "a"}))
	assert.Equal(t, "has a", variantRules(untagged, variant{key: "a"}))
}

// The code for each construct is what it was. UPDATE=1 writes it anew.
func TestGoldenCode(t *testing.T) {
	for name, emit := range map[string]func(*model, *printer){"types": (*model).emitTypes, "enums": (*model).emitEnums} {
		path := filepath.Join("testdata", name+".golden")
		got := emitMiniature(t, emit)
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, name)
	}
}

// TestCommittedCodeIsWhatTheSchemasSay makes the code of both packages anew, of the pinned schemas.
func TestCommittedCodeIsWhatTheSchemasSay(t *testing.T) {
	t.Setenv("npm_config_fetch_retries", "0")
	schemas := map[string]string{}
	for path, sum := range map[string]string{schemaPath: schemaSHA256, unstablePath: unstableSHA256} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		data, err := loadPinned(ctx, "", path, sum)
		if err != nil && os.Getenv("CI") != "true" {
			t.Skipf("the schemas come from npm, which is missing or has no network: %v", err)
		}
		require.NoError(t, err)
		schemas[path] = filepath.Join(t.TempDir(), "schema.json")
		require.NoError(t, os.WriteFile(schemas[path], data, 0o600))
	}
	for dir, unstable := range map[string]bool{"acp": false, "acp/unstable": true} {
		out := t.TempDir()
		require.NoError(t, run(t.Context(), schemas[schemaPath], schemas[unstablePath], unstable, out))
		committed := filepath.Join("..", "..", "..", "acpbridge", filepath.FromSlash(dir))
		made, err := filepath.Glob(filepath.Join(out, "*.go"))
		require.NoError(t, err)
		kept, err := filepath.Glob(filepath.Join(committed, "*_gen.go"))
		require.NoError(t, err)
		require.Len(t, made, len(kept))
		for _, file := range made {
			info, err := os.Stat(file)
			require.NoError(t, err)
			if runtime.GOOS != "windows" {
				require.Equal(t, fs.FileMode(0o644), info.Mode(), "everybody can read it")
			}
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			want, err := os.ReadFile(filepath.Join(committed, filepath.Base(file)))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "go generate ./acpbridge/%s", dir)
		}
		require.ErrorIs(t, run(t.Context(), schemas[schemaPath], schemas[unstablePath], unstable, filepath.Join(out, "none")), os.ErrNotExist)
	}
	wrong := filepath.Join(t.TempDir(), "none.json")
	require.ErrorIs(t, run(t.Context(), wrong, schemas[unstablePath], true, t.TempDir()), os.ErrNotExist)
	require.ErrorIs(t, run(t.Context(), schemas[schemaPath], wrong, true, t.TempDir()), os.ErrNotExist)
	require.ErrorContains(t, run(t.Context(), schemas[unstablePath], "", false, t.TempDir()), "schema has SHA-256 ")
}

func TestOutputIsDeterministic(t *testing.T) {
	first := emitMiniature(t, (*model).emitTypes)
	for range 10 {
		require.Equal(t, first, emitMiniature(t, (*model).emitTypes))
	}
}

func TestASchemaThatCannotBeMappedIsAnError(t *testing.T) {
	for _, bad := range []string{
		``, `{}`,
		`{"$defs": {"A": {"type": "array"}}}`,
		`{"$defs": {"A": {"type": "object", "properties": {"x": {"$ref": "#/$defs/None"}}}}}`,
		`{"$defs": {"A": {"type": "object", "properties": {"x": {"type": "tuple"}}}}}`,
		`{"$defs": {"A": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}, "x-deserialize-skip-invalid-items": true}}}}}`,
		`{"$defs": {"A": {"type": "object"}}}`, // without the protocol's methods
	} {
		_, err := generate([]byte(bad))
		assert.Error(t, err, bad)
	}
}
