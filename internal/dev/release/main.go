// SPDX-License-Identifier: Apache-2.0

// Release makes the archives of a release of ideagent, their checksums, and its entry for the ACP
// registry:
//
//	go run ./internal/dev/release -version v1.2.3 -out /repo/dist
//
// The programs get their version from the clone, so the tag must be checked out. The entry is made
// of examples/ideagent/agent.json.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	version := flag.String("version", "", "the `tag`, such as v1.2.3")
	out := flag.String("out", "dist", "`directory` for the archives, which is made")
	entry := flag.String(
		"entry", filepath.Join("examples", "ideagent", "agent.json"),
		"the registry's entry to fill in",
	)
	only := flag.String("only", "", "build for one `platform` only, such as linux-x86_64")
	flag.Parse()
	if err := release(*version, *out, *entry, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var tagForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// release writes everything to a directory.
func release(tag, out, entry, only string) error {
	if !tagForm.MatchString(tag) {
		return fmt.Errorf("-version: %q is not a tag such as v1.2.3", tag)
	}
	data, err := os.ReadFile(entry)
	if err != nil {
		return err
	}
	filled, archives, err := fill(data, tag)
	if err != nil {
		return fmt.Errorf("%s: %w", entry, err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, a := range archives {
		if only != "" && a.platform != only {
			continue
		}
		sum, err := build(a, out)
		if err != nil {
			return fmt.Errorf("%s: %w", a.platform, err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum, a.name)
	}
	if err := os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "agent.json"), filled, 0o644)
}

// build builds the program for a platform and packs it.
func build(a archive, out string) (sum [sha256.Size]byte, err error) {
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return sum, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	program := filepath.Join(work, a.program)
	goos, goarch := goPlatform(a.platform)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./examples/ideagent")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return sum, err
	}
	packed, err := pack(a.name, a.program, program)
	if err != nil {
		return sum, err
	}
	return sha256.Sum256(packed), os.WriteFile(filepath.Join(out, a.name), packed, 0o644)
}

// goPlatform returns what Go calls a platform of the registry.
func goPlatform(platform string) (goos, goarch string) {
	goos, arch, _ := strings.Cut(platform, "-")
	return goos, map[string]string{"aarch64": "arm64", "x86_64": "amd64"}[arch]
}
