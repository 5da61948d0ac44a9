// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixed has the oldest version of a module without a known vulnerability, as the Go vulnerability database had it on
// 2026-08-21, of those that a module of this repository requires.
var fixed = []struct{ module, version, advisory string }{
	{"google.golang.org/grpc", "v1.82.1", "GO-2026-4762 (CVE-2026-33186), GO-2026-6061"},
	{"github.com/buger/jsonparser", "v1.1.2", "GO-2026-4514 (CVE-2026-32285)"},
	{"go.opentelemetry.io/otel", "v1.41.0", "GO-2026-5506 (CVE-2026-29181)"},
	{"go.opentelemetry.io/otel/sdk", "v1.43.0", "GO-2026-5426 (CVE-2026-39883)"},
	{"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp", "v1.43.0", "GO-2026-4985 (CVE-2026-39882)"},
	{"golang.org/x/crypto", "v0.52.0", "GO-2026-5023 (CVE-2026-46595) and others"},
	{"golang.org/x/mod", "v0.40.0", "GO-2026-6179 (CVE-2026-56865)"},
	{"golang.org/x/net", "v0.56.0", "GO-2026-5942 (CVE-2026-46600) and others"},
	{"golang.org/x/sys", "v0.44.0", "GO-2026-5024 (CVE-2026-39824)"},
	{"golang.org/x/text", "v0.39.0", "GO-2026-5970 (CVE-2026-56852)"},
}

func TestRequiredModulesHaveNoKnownVulnerabilities(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(strings.TrimPrefix(line, "require "))
			for _, f := range fixed {
				if len(fields) >= 2 && fields[0] == f.module {
					require.GreaterOrEqual(t, number(t, fields[1]), number(t, f.version), "%s: %s %s: %s is fixed in %s",
						path, f.module, fields[1], f.advisory, f.version)
				}
			}
		}
		return nil
	}))
	require.Greater(t, files, 10)
}

// number makes a version comparable.
func number(t *testing.T, version string) int {
	var major, minor, patch int
	_, err := fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch)
	require.NoError(t, err, version)
	return (major*10_000+minor)*10_000 + patch
}
