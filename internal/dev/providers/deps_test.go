// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The modules that one pays for with time of compilation, and megabytes.
const (
	anthropicSDK = "github.com/anthropics/anthropic-sdk-go"
	genai        = "google.golang.org/genai"
	genkit       = "github.com/firebase/genkit/go"
	openaiSDK    = "github.com/openai/openai-go"
	grpc         = "google.golang.org/grpc"
)

var sdks = []string{anthropicSDK, genai, genkit, openaiSDK, grpc}

// modules lists the modules, but for ours and the standard library, of the packages that a package needs.
func modules(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", pkg)
	cmd.Dir = "../../.."
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	all := strings.Fields(string(out))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(m string) bool { return m == "github.com/ponte-go/ponte" })
}

// A program pays for the providers that it imports, and for no others.
func TestAProgramLinksOnlyTheSDKsThatItImports(t *testing.T) {
	for _, test := range []struct {
		pkg   string
		links []string // of sdks, those that must be there; no other may
		alone bool     // no module of others at all
	}{
		{pkg: "agent/model", alone: true}, // with the registry
		{pkg: "agent/model/openaimodel", alone: true},
		{pkg: "agent/model/modelwrap", alone: true},
		{pkg: "agent/model/modelwrap", alone: true},
		{pkg: "agent"},
		{pkg: "acpbridge"},
		{pkg: "examples/ideagent"},
		{pkg: "agent/model/anthropicmodel", links: []string{anthropicSDK}},
		{pkg: "agent/model/geminimodel", links: []string{genai, grpc}},
		{pkg: "agent/model/genkitmodel", links: []string{genkit}},
		{pkg: "agent/model/genkitmodel/openaidialect", links: []string{genkit, openaiSDK}},
		{pkg: "agent/model/genkitmodel/anthropicdialect", links: []string{genkit, anthropicSDK}},
		{pkg: "agent/model/genkitmodel/googledialect", links: []string{genkit, genai, grpc}},
		{pkg: "agent/model/genkitmodel/ollamadialect", links: []string{genkit}},
	} {
		t.Run(test.pkg, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(test.pkg))); err != nil {
				t.Skip(err)
			}
			all := modules(t, "./"+test.pkg)
			if test.alone {
				require.Empty(t, all, "it must need the standard library only")
			}
			for _, sdk := range sdks {
				require.Equal(t, slices.Contains(test.links, sdk), slices.Contains(all, sdk),
					"%s: a program that imports only %s links %d modules:\n  %s", sdk, test.pkg, len(all), strings.Join(all, "\n  "))
			}
		})
	}
}
