// SPDX-License-Identifier: Apache-2.0

// Command lspgen generates the types of the Language Server Protocol that package lsp uses.
//
// Their structure is read out of gopls, whose own types are generated from the official meta model:
// the pinned module is downloaded by the go command, which verifies it, and the SHA-256 of the file
// must match the pinned one. A file named by -types takes its place.
//
//	go generate ./internal/lsp
//
// Only names, types and JSON tags are used; comments in the output are this program's own. Which
// types are generated is said in wanted.go. What a type refers to beyond those is left as JSON.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// The source. To move to another release, change all together and review the diff of the output.
const (
	module    = "golang.org/x/tools/gopls@v0.23.0"
	typesPath = "internal/protocol/tsprotocol.go"
	typesSum  = "1dc6eaa720ed2c107caddf7b0d3548d425bca6cf6c3f6232fbf3c6dc1e5a13dd"
)

func main() {
	types := flag.String("types", "", "read the types from `file` instead of the pinned module")
	out := flag.String("out", "types_gen.go", "write the generated `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *types, *out); err != nil {
		fmt.Fprintln(os.Stderr, "lspgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, types, out string) error {
	if types == "" {
		dir, err := download(ctx)
		if err != nil {
			return err
		}
		types = filepath.Join(dir, filepath.FromSlash(typesPath))
	}
	src, err := os.ReadFile(types)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(src)
	if got := hex.EncodeToString(sum[:]); got != typesSum {
		return fmt.Errorf("%s has SHA-256 %s, want %s (that of %s)", types, got, typesSum, module)
	}
	code, err := generate(src)
	if err != nil {
		return err
	}
	return os.WriteFile(out, code, 0o644)
}

// download returns the directory of the module in the module cache.
func download(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	data, err := cmd.Output()
	var found struct{ Dir, Error string }
	if wrong := json.Unmarshal(data, &found); wrong == nil && found.Error != "" {
		return "", fmt.Errorf("go mod download %s: %s", module, found.Error)
	}
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	return found.Dir, nil
}
