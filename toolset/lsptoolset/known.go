// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"maps"
	"slices"
)

// Server describes a language server.
type Server struct {
	// Name identifies the server to people, models and rules.
	Name string
	// Command is the program and its arguments. The program is looked up in PATH, and where
	// language tools are usually installed, such as ~/go/bin.
	Command []string
	// Files are the languages that the server is for: the identifier of a language in the protocol,
	// by the extension of its files, such as ".go": "go". The case of an extension does not matter.
	Files map[string]string
	// Install is the command that installs the server, for people. It is never run.
	Install string
	// Settings are the answers to the server's questions about its configuration, by section, and
	// Options are what it gets when it starts. Both must be encodable as JSON.
	Settings map[string]any
	Options  any
	// Edits are the server's commands that only compute edits. Other commands are asked about
	// before they run.
	Edits []string
	// OpenOnly is set if the server reports problems in open files only.
	OpenOnly bool
	// Env are further variables for the server, each as "NAME=value".
	Env []string

	ends lineEnds
}

// Known returns the language servers that this package knows. Of several for a language, the first
// one that is installed is used.
func Known() []Server {
	all := slices.Clone(known)
	for i := range all {
		all[i].Files, all[i].Settings = maps.Clone(all[i].Files), maps.Clone(all[i].Settings)
	}
	return all
}

var (
	python = map[string]string{".py": "python", ".pyi": "python"}

	pythonSettings = map[string]any{
		"autoSearchPaths": true, "useLibraryCodeForTypes": true,
		// The whole workspace would keep it from answering for minutes.
		"diagnosticMode": "openFilesOnly",
	}
)

// known is the table of languages. docs/lsp.md shows it.
var known = []Server{
	{
		Name: "gopls", Command: []string{"gopls"}, ends: endsLF,
		Files:   map[string]string{".go": "go", ".mod": "go.mod", ".work": "go.work"},
		Install: "go install golang.org/x/tools/gopls@latest",
		Settings: map[string]any{"gopls": map[string]any{
			// Edits come one at a time, not with each key. The progress tells when the work is
			// done.
			"diagnosticsDelay": "10ms", "verboseWorkDoneProgress": true, "symbolStyle": "Package",
			"symbolScope": "workspace", "symbolMatcher": "CaseInsensitive", "hoverKind": "FullDocumentation",
			"linksInHover": false,
		}},
		Edits: []string{
			"gopls.apply_fix", "gopls.change_signature", "gopls.add_import", "gopls.fill_struct",
		},
	},
	{
		Name: "pyright", Command: []string{"pyright-langserver", "--stdio"}, Files: python,
		Install: "npm install -g pyright",
		Settings: map[string]any{
			"python": map[string]any{"analysis": pythonSettings}, "python.analysis": pythonSettings,
		},
		Edits:    []string{"pyright.organizeimports"},
		OpenOnly: true,
	},
	{
		Name: "basedpyright", Command: []string{"basedpyright-langserver", "--stdio"}, Files: python,
		Install: "npm install -g basedpyright",
		Settings: map[string]any{
			"basedpyright":          map[string]any{"analysis": pythonSettings},
			"basedpyright.analysis": pythonSettings, "python.analysis": pythonSettings,
		},
		Edits:    []string{"basedpyright.organizeimports"},
		OpenOnly: true,
	},
	{
		Name: "typescript-language-server", Command: []string{"typescript-language-server", "--stdio"}, ends: endsJS,
		Files: map[string]string{
			".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
			".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
		},
		Install: "npm install -g typescript-language-server typescript@5",
		// Otherwise it downloads types from the npm registry.
		Options:  map[string]any{"disableAutomaticTypingAcquisition": true},
		Edits:    []string{"_typescript.organizeImports", "_typescript.applyRefactoring"},
		OpenOnly: true,
	},
	{
		Name: "rust-analyzer", Command: []string{"rust-analyzer"}, ends: endsLF,
		Files:   map[string]string{".rs": "rust"},
		Install: "rustup component add rust-analyzer",
	},
	{
		Name: "clangd", Command: []string{"clangd", "--background-index", "--log=error"}, ends: endsLF,
		Files: map[string]string{
			".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp",
			".m": "objective-c", ".mm": "objective-cpp", ".cu": "cuda-cpp",
		},
		Install:  "apt install clangd",
		Edits:    []string{"clangd.applyFix", "clangd.applyTweak", "clangd.applyRename"},
		OpenOnly: true,
	},
	{
		Name: "jdtls", Command: []string{"jdtls"},
		Files:   map[string]string{".java": "java"},
		Install: "brew install jdtls",
	},
}
